// Arrivals: waits in words, then shows only who came since.
import { render } from '@testing-library/svelte';
import { expect, test, vi } from 'vitest';
import { api } from '../lib/api';
import { live } from '../lib/live.svelte';
import { summary } from '../testing/agents';
import Arrivals from './Arrivals.svelte';

test('only agents that connected since are shown', async () => {
  const soon = new Date(Date.now() + 60_000).toISOString();
  const items = [summary({ name: 'new', instance_uid: 'a', connected_since: soon }), summary({ name: 'old', instance_uid: 'b' })];
  vi.spyOn(api, 'agents').mockResolvedValue({ items, next_cursor: null, total: 2 });
  let hear: (uids: string[] | null) => void = () => {};
  vi.spyOn(live, 'listen').mockImplementation((listener) => ((hear = listener), () => {}) as never);
  const { findByRole, getByText, queryByText } = render(Arrivals);
  getByText(/Waiting for an agent/);
  hear(['a']);
  await findByRole('link', { name: 'new' });
  expect(queryByText('old')).toBeNull();
  vi.restoreAllMocks();
});
