// Pacing: many wishes are one run, never two at once, by itself after a while, never in a hidden tab.
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Paced } from './paced';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('many wishes within the gap become one run, and a wish during a run one more', async () => {
  let finish: () => void = () => {};
  const run = vi.fn(() => new Promise<void>((done) => (finish = done)));
  const paced = new Paced(1000, run);
  for (let wish = 0; wish < 50; wish += 1) paced.soon();
  await vi.advanceTimersByTimeAsync(1);
  expect(run).toHaveBeenCalledTimes(1);
  for (let wish = 0; wish < 50; wish += 1) paced.soon();
  await vi.advanceTimersByTimeAsync(5000);
  expect(run).toHaveBeenCalledTimes(1);
  finish();
  await vi.advanceTimersByTimeAsync(999);
  expect(run).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(2);
  expect(run).toHaveBeenCalledTimes(2);
  paced.end();
});

test('it repeats by itself, also after a failure, until it is ended', async () => {
  const run = vi.fn(async () => Promise.reject(new Error('down')));
  const paced = new Paced(100, run, 15_000);
  paced.soon();
  await vi.advanceTimersByTimeAsync(31_000);
  expect(run).toHaveBeenCalledTimes(3);
  paced.end();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(run).toHaveBeenCalledTimes(3);
});

test('a hidden tab waits, and catches up when it is shown', async () => {
  const hidden = vi.spyOn(document, 'hidden', 'get').mockReturnValue(true);
  const run = vi.fn(async () => {});
  const paced = new Paced(100, run);
  paced.soon();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(run).not.toHaveBeenCalled();
  hidden.mockReturnValue(false);
  document.dispatchEvent(new Event('visibilitychange'));
  await vi.advanceTimersByTimeAsync(200);
  expect(run).toHaveBeenCalledTimes(1);
  paced.end();
  hidden.mockRestore();
});
