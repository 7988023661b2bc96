// Watched things: read again on a hint that concerns them; an error leaves what was shown.
import { expect, test, vi } from 'vitest';
import { ApiError } from './api';
import type { Listener, Live, Topic } from './live.svelte';
import { Watched } from './watched.svelte';

test('a hint about another thing is not followed, one about this is; an error keeps the value', async () => {
  const heard = new Map<Topic, Listener>();
  const from = { listen: (listener: Listener, topic: Topic) => (heard.set(topic, listener), () => heard.delete(topic)) } as unknown as Live;
  let turn = 0;
  const read = vi.fn(async () => {
    turn += 1;
    if (turn > 2) throw new ApiError(503, 'unavailable', '');
    return turn;
  });
  const watched = new Watched(read, { gapMs: 0, from });
  const leave = watched.follow(['configs', 'web']);
  await vi.waitFor(() => expect(watched.value).toBe(1));
  heard.get('configs')!(['other']);
  heard.get('configs')!(['web']);
  await vi.waitFor(() => expect(watched.value).toBe(2));
  heard.get('configs')!(null);
  await vi.waitFor(() => expect(watched.error?.status).toBe(503));
  expect(watched.value).toBe(2);
  leave();
  expect(heard.size).toBe(0);
});
