// The check of a draft: one question after a pause, late answers dropped, no answer told.
import { expect, test, vi } from 'vitest';
import { DraftCheck } from './draft-check.svelte';

test('letters become one question, and a late answer is dropped', async () => {
  vi.useFakeTimers();
  const answers: ((value: { valid: boolean; problems: [] }) => void)[] = [];
  const ask = vi.fn(() => new Promise<{ valid: boolean; problems: [] }>((done) => answers.push(done)));
  const check = new DraftCheck(ask);
  check.soon([{ name: '', body: 'a' }]);
  check.soon([{ name: '', body: 'ab' }]);
  await vi.advanceTimersByTimeAsync(500);
  expect(ask).toHaveBeenCalledTimes(1);
  check.soon([{ name: '', body: 'abc' }]);
  answers[0]!({ valid: true, problems: [] });
  await vi.advanceTimersByTimeAsync(1);
  expect(check.state).toBe('checking');
  vi.useRealTimers();
});

test('no answer is told as that', async () => {
  vi.useFakeTimers();
  const check = new DraftCheck(() => Promise.reject(new Error('down')));
  check.soon([{ name: '', body: 'a' }]);
  await vi.advanceTimersByTimeAsync(500);
  expect(check.state).toBe('unchecked');
  vi.useRealTimers();
});

test('an empty draft is not asked about, and says so at once', () => {
  const ask = vi.fn();
  const check = new DraftCheck(ask);
  check.soon([{ name: 'a.yaml', body: ' \n' }]);
  expect([check.state, ask.mock.calls.length]).toEqual(['empty', 0]);
});
