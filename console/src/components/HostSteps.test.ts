// The list that is ticked off: nothing yet, a host on its way, one that is ready, a command that is over.
import { render } from '@testing-library/svelte';
import { afterEach, expect, test, vi } from 'vitest';
import { hosts } from '../lib/hosts';
import { host, joinToken } from '../testing/hosts';
import HostSteps from './HostSteps.svelte';

afterEach(() => vi.restoreAllMocks());
const tagged = (value: ReturnType<typeof host>) => ({ value, etag: null, status: 200 });

test('a machine that joined is ticked off as far as it is', async () => {
  vi.spyOn(hosts, 'tokens').mockResolvedValue({ items: [joinToken({ state: 'used', used_by: 'one' })] });
  vi.spyOn(hosts, 'get').mockResolvedValue(tagged(host({ engine: null, in_sync: false })));
  const { findByText, getByText, container } = render(HostSteps, { token: '4' });
  await findByText('joined as one');
  getByText('its container engine answers: none does yet, install Docker or start it');
  expect(container.querySelectorAll('li.done')).toHaveLength(2);
});

test('one that is ready leads to its page', async () => {
  vi.spyOn(hosts, 'tokens').mockResolvedValue({ items: [joinToken({ state: 'used', used_by: 'one' })] });
  vi.spyOn(hosts, 'get').mockResolvedValue(tagged(host()));
  const { findByRole, getByText } = render(HostSteps, { token: '4' });
  expect((await findByRole('link', { name: 'one' })).getAttribute('href')).toBe('/hosts/one');
  getByText('muster deploy --file compose.yaml');
});

test('a command that is over says so', async () => {
  vi.spyOn(hosts, 'tokens').mockResolvedValue({ items: [joinToken({ state: 'expired' })] });
  const { findByText, queryByText } = render(HostSteps, { token: '4' });
  await findByText('No machine joined with this command in time.');
  expect(queryByText('the machine joins')).toBeNull();
});
