// The plan of a file while it is written: asked a little after the last letter, and only the newest answer counts.
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ApiError } from './api';
import { PlanCheck } from './plan-check.svelte';
import type { Plan } from './services';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());
const given = { variables: {}, files: {} };
const plan = (project: string): Plan => ({ project, services: [], warnings: [], refusals: [], text: [] });

test('letters in a row are one question, and an older answer is dropped', async () => {
  const answers: ((plan: Plan) => void)[] = [];
  const ask = vi.fn(() => new Promise<Plan>((resolve) => answers.push(resolve)));
  const check = new PlanCheck(ask);
  check.soon('one', 'a', given, false);
  check.soon('one', 'ab', given, false);
  await vi.advanceTimersByTimeAsync(500);
  check.soon('two', 'abc', given, false);
  await vi.advanceTimersByTimeAsync(500);
  expect(ask).toHaveBeenCalledTimes(2);
  answers[1]?.(plan('two'));
  answers[0]?.(plan('one'));
  await vi.advanceTimersByTimeAsync(0);
  expect([check.outlook.plan?.project, check.state]).toEqual(['two', 'checked']);
});

test('without a text or a name nothing is asked; without an answer nothing is called good', async () => {
  const ask = vi.fn(() => Promise.reject(new ApiError(0, 'no answer', 'gone')));
  const check = new PlanCheck(ask);
  check.soon('', 'a', given, false);
  await vi.advanceTimersByTimeAsync(500);
  expect([ask.mock.calls.length, check.state]).toEqual([0, 'empty']);
  check.soon('one', 'a', given, false);
  await vi.advanceTimersByTimeAsync(500);
  expect([check.state, check.outlook.error?.status]).toEqual(['unchecked', 0]);
});
