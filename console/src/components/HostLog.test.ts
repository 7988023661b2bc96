// The lines of a host: the newest first, folded when there are many, hostile text as text.
import { fireEvent, render } from '@testing-library/svelte';
import { afterEach, expect, test, vi } from 'vitest';
import { hosts } from '../lib/hosts';
import { HOSTILE } from '../testing/agents';
import HostLog from './HostLog.svelte';

afterEach(() => vi.restoreAllMocks());
const lines = (amount: number) => Array.from({ length: amount }, (_, at) => ({ at: '2026-11-30T03:00:00.000Z', level: 'error', source: 'docker', text: at === 0 ? HOSTILE : `line ${at}` }));

test('the newest line is the first, and the rest is a click away', async () => {
  vi.spyOn(hosts, 'log').mockResolvedValue({ items: lines(14) });
  const { findByText, getByRole, container, queryByText } = render(HostLog, { host: { id: 'hst_1' } });
  await findByText('line 13');
  expect(container.querySelector('li .text')?.textContent).toBe('line 13');
  expect(queryByText('line 1')).toBeNull();
  await fireEvent.click(getByRole('button', { name: 'Show the last 14 lines' }));
  expect(container.querySelectorAll('li')).toHaveLength(14);
  await findByText(/\\u202egnp/);
  expect(container.querySelector('img')).toBeNull();
});

test('a host that said nothing is said to', async () => {
  vi.spyOn(hosts, 'log').mockResolvedValue({ items: [] });
  await render(HostLog, { host: { id: 'hst_1' } }).findByText('This host has said nothing.');
});
