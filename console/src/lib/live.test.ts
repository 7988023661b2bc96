// The live stream: a lost one is told, tried again, and followed by "read everything again".
import { expect, test, vi } from 'vitest';
import { ApiError, type Api } from './api';
import { Live } from './live.svelte';

function streamOf(...chunks: string[]): Response {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(new TextEncoder().encode(chunk));
      controller.close();
    },
  });
  return new Response(body);
}

test('a lost stream is shown, heals with the last id, and makes pages read again', async () => {
  const asked: (string | null)[] = [];
  const answers = [
    () => streamOf('id: 7-1\nevent: agents\ndata: {"uids":["a"]}\n\n'),
    () => {
      throw new ApiError(0, 'no answer', 'down');
    },
    () => new Response(new ReadableStream({})),
  ];
  const events = async (id: string | null): Promise<Response> => {
    asked.push(id);
    return answers[Math.min(asked.length, answers.length) - 1]!();
  };
  const live = new Live({ events } as unknown as Api);
  const told: (string[] | null)[] = [];
  live.listen((uids) => told.push(uids));
  live.start();
  await vi.waitFor(() => expect(live.status).toBe('lost'));
  expect(live.lostAt).not.toBeNull();
  await vi.waitFor(() => expect(live.status).toBe('live'), { timeout: 5000 });
  expect(asked).toEqual([null, '7-1', '7-1']);
  expect(told).toEqual([['a'], null]);
  expect(live.lostAt).toBeNull();
  live.stop();
});

test('hints about hosts and projects reach those who asked for them, and nobody else', async () => {
  const hints = 'event: hosts\ndata: {"names":["hst_1"]}\n\nevent: projects\ndata: {"names":["shop"]}\n\n';
  const live = new Live({ events: async () => streamOf(hints) } as unknown as Api);
  const told: [string, string[] | null][] = [];
  for (const topic of ['agents', 'hosts', 'projects'] as const) live.listen((ids) => told.push([topic, ids]), topic);
  live.start();
  await vi.waitFor(() => expect(told).toEqual([['hosts', ['hst_1']], ['projects', ['shop']]]));
  live.stop();
});

test('a refused session ends the stream instead of asking for ever', async () => {
  const events = vi.fn(async () => {
    throw new ApiError(401, 'not signed in', 'no session');
  });
  vi.useFakeTimers();
  const live = new Live({ events } as unknown as Api);
  live.start();
  await vi.advanceTimersByTimeAsync(120_000);
  expect(events).toHaveBeenCalledTimes(1);
  expect(live.status).toBe('connecting');
  live.stop();
  vi.useRealTimers();
});
