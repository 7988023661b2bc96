// Reading server-sent events: cuts, comments, ids, a stream that goes quiet.
import { expect, test, vi } from 'vitest';
import { EventParser, readEvents, type StreamEvent } from './events';

test('events are the same however the stream is cut', () => {
  const stream = ': hello\n\nid: 1-1\nevent: agents\ndata: {"uids":\ndata: ["a"]}\n\nevent: reset\r\n\r\n';
  const whole = new EventParser().feed(stream);
  expect(whole).toEqual([
    { id: '1-1', event: 'agents', data: '{"uids":\n["a"]}' },
    { id: '1-1', event: 'reset', data: '' },
  ]);
  for (let cut = 1; cut < stream.length; cut += 1) {
    const parser = new EventParser();
    expect([...parser.feed(stream.slice(0, cut)), ...parser.feed(stream.slice(cut))]).toEqual(whole);
  }
});

test('a stream without any sign of life is given up', async () => {
  vi.useFakeTimers();
  const body = new ReadableStream<Uint8Array>({});
  const reading = readEvents(body, 1000, () => {});
  const failed = expect(reading).rejects.toThrow('went quiet');
  await vi.advanceTimersByTimeAsync(1001);
  await failed;
  vi.useRealTimers();
});

test('reading ends when the stream ends', async () => {
  const seen: StreamEvent[] = [];
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(new TextEncoder().encode('data: x\n\n'));
      controller.close();
    },
  });
  await readEvents(body, 1000, (event) => seen.push(event));
  expect(seen).toEqual([{ id: '', event: 'message', data: 'x' }]);
});
