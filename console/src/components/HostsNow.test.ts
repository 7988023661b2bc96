// The hosts on the overview: those that need somebody come forward, and without a host there is nothing.
import { render } from '@testing-library/svelte';
import { afterEach, expect, test, vi } from 'vitest';
import { hosts } from '../lib/hosts';
import { host } from '../testing/hosts';
import HostsNow from './HostsNow.svelte';

afterEach(() => vi.restoreAllMocks());

test('hosts that need somebody are named with what is wrong', async () => {
  vi.spyOn(hosts, 'list').mockResolvedValue({ items: [host(), ...[2, 3, 4, 5, 6, 7].map((n) => host({ id: `hst_${n}`, name: `h${n}`, problems: [`reason ${n}`, ...(n === 3 ? ['another'] : [])] }))] });
  const { findByRole, getByText, queryByText, getByRole } = render(HostsNow);
  expect((await findByRole('link', { name: 'All 7 hosts are online; 6 need you.' })).getAttribute('href')).toBe('/hosts');
  getByText('reason 6');
  expect(getByRole('link', { name: 'and 1 more' }).getAttribute('href')).toBe('/hosts/h3');
  expect([queryByText('reason 7'), queryByText('one')]).toEqual([null, null]);
  expect(getByRole('link', { name: 'All 6 that need somebody' }).getAttribute('href')).toBe('/hosts?show=needs+you');
});

test('without a host nothing is shown', async () => {
  const list = vi.spyOn(hosts, 'list').mockResolvedValue({ items: [] });
  const { container } = render(HostsNow);
  await vi.waitFor(() => expect(list).toHaveBeenCalled());
  expect(container.textContent).toBe('');
});
