// Which columns of a table have room, and which go into the second line of each row. Nothing is ever dropped: what
// does not fit beside is told below. Pure; Table.svelte measures and draws.

export interface Column {
  id: string;
  head: string;
  /** The width in px that its values need to be read beside the others. */
  least: number;
  /** When it folds: the higher, the earlier, and the further back in the second line. Without it, never. */
  fold?: number;
  /** What its values are called in the second line; the head where it is left out, nothing where they tell themselves. */
  label?: string;
  /** For its cells. */
  class?: string;
  number?: boolean;
  /** The order of the rows, where it is that of this column. */
  order?: 'ascending' | 'descending';
}

type Foldable = Pick<Column, 'least' | 'fold'>;

/** Parts the columns. A width of zero is one that is not known yet: everything has room. */
export function fit<One extends Foldable>(columns: One[], width: number): { shown: One[]; folded: One[] } {
  let need = columns.reduce((sum, column) => sum + column.least, 0);
  const folded: One[] = [];
  // The last of equals goes first, as it stands furthest from the name.
  for (const column of [...columns].reverse().filter((one) => one.fold !== undefined).sort((a, b) => (b.fold ?? 0) - (a.fold ?? 0))) {
    if (width === 0 || need <= width) break;
    need -= column.least;
    folded.unshift(column);
  }
  return { shown: columns.filter((column) => !folded.includes(column)), folded };
}
