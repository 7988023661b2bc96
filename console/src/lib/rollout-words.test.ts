// Rollouts in words: counts, singular and plural, batches.
import { expect, test } from 'vitest';
import { assignment } from '../testing/agents';
import { assignmentSentence, batchWords, partsOf, progressWords, selectorWords } from './rollout-words';

const progress = (over = {}) => ({ ...assignment().progress, ...over });

test('a rollout says who has it and what became of the others', () => {
  expect(assignmentSentence(assignment())).toBe('web revision 3 is being rolled out. 12 of 38 agents have it, 3 apply it now, 1 failed, 22 wait.');
  expect(assignmentSentence(assignment({ state: 'paused' }))).toMatch(/^The rollout of web revision 3 is paused\. /);
  const one = progress({ matched: 1, eligible: 1, applied: 1, applying: 0, failed: 0, waiting: 0 });
  expect(assignmentSentence(assignment({ state: 'done', progress: one }))).toBe('web revision 3 is assigned. 1 of 1 agent has it.');
  expect(progressWords(assignment({ progress: progress({ eligible: 0 }) }))).toBe('No agent that matches can be given it now.');
});

test('the parts of the bar are the words of the states', () => {
  expect(partsOf(assignment()).map(({ word, amount }) => [word, amount])).toEqual([['in sync', 12], ['applying', 3], ['failed', 1], ['offline', 0], ['waiting', 22]]);
});

test('batches are counted in agents, at least one at a time', () => {
  expect([[38, 10], [3, 10], [4, 100], [1, 10], [40, 25]].map(([agents, percent]) => batchWords(agents!, percent!))).toEqual([
    'in 10 batches of 4', 'in 3 batches of 1', 'all at once', 'all at once', 'in 4 batches of 10',
  ]);
  expect([selectorWords(' '), selectorWords('a=b')]).toEqual(['every agent', 'a=b']);
});
