// Folds the unchanged lines of a difference away, but for a few around each change.
import type { DiffLine } from './configs';

export type Block = { folded: false; lines: DiffLine[] } | { folded: true; lines: DiffLine[] };

const AROUND = 3;
/** Fewer lines than this are not worth folding. */
const LEAST = 5;

export function foldLines(lines: DiffLine[]): Block[] {
  const near = lines.map((_, at) => lines.slice(Math.max(0, at - AROUND), at + AROUND + 1).some((line) => line.kind !== 'same'));
  const blocks: Block[] = [];
  for (const [at, line] of lines.entries()) {
    const folded = !near[at];
    const last = blocks.at(-1);
    if (last && last.folded === folded) last.lines.push(line);
    else blocks.push({ folded, lines: [line] });
  }
  return blocks.map((block) => (block.folded && block.lines.length < LEAST ? { folded: false, lines: block.lines } : block));
}

/** How many lines a difference adds and removes. */
export function tally(lines: DiffLine[]): { added: number; removed: number } {
  return { added: lines.filter((line) => line.kind === 'added').length, removed: lines.filter((line) => line.kind === 'removed').length };
}
