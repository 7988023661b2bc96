// Rollouts in words: counts, singular and plural, batches.
import { expect, test } from 'vitest';
import { assignment } from '../testing/agents';
import { assignmentMark, assignmentSentence, assignmentsSentence, batchPlace, batchWords, formerOf, partsOf, pausedAt, pauseTitle, progressWords, selectorWords } from './rollout-words';

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

test('one agent is not counted in broken grammar, and who has failed is said', () => {
  const of = (over: object) => progressWords(assignment({ progress: { ...progress(), eligible: 1, applied: 0, applying: 0, failed: 0, offline: 0, waiting: 0, ...over } }));
  expect([of({ failed: 1 }), of({ applying: 1 }), of({ offline: 1 }), of({ waiting: 1 }), of({ applied: 1 })]).toEqual([
    'Its one agent failed.', 'Its one agent applies it now.', 'Its one agent is offline.', 'Its one agent waits.', '1 of 1 agent has it.',
  ]);
});

test('an assignment that is done with failures does not look as if all were well', () => {
  const done = assignment({ state: 'done' });
  expect(assignmentMark(done)).toMatchObject({ word: 'done, 1 failed', tone: 'bad', shape: 'cross' });
  expect(assignmentMark({ ...done, progress: progress({ failed: 0 }) })).toMatchObject({ word: 'done', tone: 'ok' });
  expect(assignmentsSentence([done, assignment(), assignment({ state: 'paused' })], 3)).toBe('3 assignments: 1 rolling, 1 paused and waiting for somebody, 2 with agents that failed.');
  expect(assignmentsSentence([{ ...done, progress: progress({ failed: 0 }) }], 1)).toBe('1 assignment, none on its way.');
});

test('the way back is what everybody had, else the revision before, else none', () => {
  const history = [5, 3, 2].map((number) => ({ number }));
  expect(formerOf({ revision: 5, settled_revision: 2 }, history)).toEqual({ revision: 2, settled: true });
  expect(formerOf({ revision: 5, settled_revision: 5 }, history)).toEqual({ revision: 3, settled: false });
  expect(formerOf({ revision: 5, settled_revision: null }, history)).toEqual({ revision: 3, settled: false });
  expect(formerOf({ revision: 2, settled_revision: null }, history)).toBeNull();
});

test('a pause says since when, why, and which agent on which host', () => {
  const at = Date.parse('2026-11-30T03:14:20.000Z');
  const paused = (pause: object) => assignment({ state: 'paused', pause: { kind: 'failed', agent: 'u', text: 't', ...pause } });
  expect(pauseTitle(paused({}), at)).toBe('Paused by itself 20 s ago: 1 agent failed.');
  expect(pauseTitle(paused({ kind: 'health lost' }), at)).toBe('Paused by itself 20 s ago: an agent is not healthy any more.');
  expect(pauseTitle(paused({ kind: 'operator', agent: null }), at)).toBe('Paused by an operator 20 s ago.');
  expect(pausedAt({ kind: 'failed', agent: 'u', text: 't', agent_name: 'otelcol', host: 'edge-08' })).toBe('otelcol on edge-08');
  expect(pausedAt({ kind: 'failed', agent: 'u', text: 't' })).toBe('that agent');
});

test('batches are told by their place while they go out', () => {
  expect(batchPlace(assignment())).toBe('batch 4 of 10');
  expect(batchPlace(assignment({ state: 'done' }))).toBeNull();
  expect(batchPlace(assignment({ batch_percent: 100 }))).toBeNull();
  expect(batchPlace(assignment({ progress: progress({ released: 0 }) }))).toBe('no batch of 10 yet');
});
