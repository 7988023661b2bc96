// Folding: long unchanged runs go, a few lines around a change stay.
import { expect, test } from 'vitest';
import type { DiffLine } from './configs';
import { foldLines, tally } from './diff-fold';

const same = (count: number): DiffLine[] => Array.from({ length: count }, (_, at) => ({ kind: 'same', old: at + 1, new: at + 1, text: `l${at}` }));
const added: DiffLine = { kind: 'added', old: null, new: 1, text: 'x' };

test('three lines stay on each side of a change, the rest is folded', () => {
  const blocks = foldLines([...same(20), added, ...same(20)]);
  expect(blocks.map((block) => [block.folded, block.lines.length])).toEqual([[true, 17], [false, 7], [true, 17]]);
  expect(tally(blocks.flatMap((block) => block.lines))).toEqual({ added: 1, removed: 0 });
});

test('a short run is not folded', () => {
  expect(foldLines([...same(7), added]).some((block) => block.folded)).toBe(false);
});
