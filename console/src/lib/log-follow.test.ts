// Following lines: a stream for each service, pause, a stream that breaks and comes back without repeating.
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { replica, service } from '../testing/services';
import { ApiError } from './api';
import { LogFollower } from './log-follow.svelte';

/** A server whose streams the test feeds. */
class Streams {
  asked: string[] = [];
  open: ReadableStreamDefaultController<Uint8Array>[] = [];
  refuse: ApiError | null = null;

  async lines(path: string): Promise<Response> {
    this.asked.push(path);
    if (this.refuse) throw this.refuse;
    return new Response(new ReadableStream<Uint8Array>({ start: (controller) => void this.open.push(controller) }));
  }

  say(text: string, second: number, at = this.open.length - 1): void {
    const line = { at: `2026-11-30T03:00:0${second}.000000Z`, replica: 'web-1', host: 'eu-1', stream: 'out', text };
    this.open[at]?.enqueue(new TextEncoder().encode(`${JSON.stringify(line)}\n`));
  }
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());
const passed = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);
const texts = (follower: LogFollower): string[] => follower.lines.map((one) => one.text);

test('it asks for the tail with the text, shows what comes, and holds back while paused', async () => {
  const streams = new Streams();
  const follower = new LogFollower(streams);
  follower.ask({ tail: 20, contains: 'GET' });
  follower.adjust([service()]);
  await passed(0);
  expect(streams.asked).toEqual(['/services/shop/web/logs?follow=true&limit=20&contains=GET']);
  expect(follower.status).toBe('live');
  streams.say('a', 1);
  await passed(200);
  expect(texts(follower)).toEqual(['a']);
  follower.pause();
  streams.say('b', 2);
  await passed(200);
  expect([texts(follower), follower.waiting]).toEqual([['a'], 1]);
  follower.resume();
  expect([texts(follower), follower.waiting]).toEqual([['a', 'b'], 0]);
  follower.end();
});

test('a stream that breaks is said to be lost, comes back, and repeats nothing', async () => {
  const streams = new Streams();
  const follower = new LogFollower(streams);
  follower.adjust([service()]);
  await passed(0);
  streams.say('a', 1);
  await passed(200);
  streams.refuse = new ApiError(0, 'no answer', 'the server does not answer');
  streams.open[0]?.error(new Error('cut'));
  await passed(100);
  expect([follower.status, follower.lostAt !== null]).toEqual(['lost', true]);
  streams.refuse = null;
  await passed(20_000);
  expect([follower.status, follower.lostAt]).toEqual(['live', null]);
  expect(streams.asked.at(-1)).toContain('since=2026-11-30T02%3A59%3A51.000Z');
  streams.say('a', 1);
  streams.say('b', 2);
  await passed(200);
  expect(texts(follower)).toEqual(['a', 'b']);
  follower.end();
});

test('replicas that come are listened to, and without any there is nothing to follow', async () => {
  const streams = new Streams();
  const follower = new LogFollower(streams);
  follower.adjust([service({ replicas: [] })]);
  expect(follower.status).toBe('none');
  follower.adjust([service()]);
  await passed(0);
  follower.adjust([service()]);
  await passed(0);
  expect(streams.asked).toHaveLength(1);
  follower.adjust([service({ replicas: [replica(), replica({ id: 'rep_2', number: 2 })] })]);
  await passed(0);
  expect(streams.asked).toHaveLength(2);
  follower.end();
});

test('what the server says about a stream is told until lines come', async () => {
  const streams = new Streams();
  const follower = new LogFollower(streams);
  follower.adjust([service()]);
  await passed(0);
  streams.open[0]?.enqueue(new TextEncoder().encode('{"note":"a host is not connected"}\n'));
  await passed(0);
  expect(follower.notes).toEqual(['a host is not connected']);
  streams.say('a', 1);
  await passed(200);
  expect(follower.notes).toEqual([]);
  follower.end();
});
