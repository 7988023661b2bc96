// The way from an agent to the host whose machine it is on; silent where there is none.
import { render } from '@testing-library/svelte';
import { afterEach, expect, test, vi } from 'vitest';
import { hosts } from '../lib/hosts';
import { host } from '../testing/hosts';
import AgentHost from './AgentHost.svelte';

afterEach(() => vi.restoreAllMocks());
const on = (machine: string) => ({ description: { identifying: [], non_identifying: [{ key: 'host.id', type: 'string', value: machine }] } });

test('an agent on the machine of a host leads there', async () => {
  vi.spyOn(hosts, 'list').mockResolvedValue({ items: [host({ name: 'two', machine_id: 'other' }), host()] });
  const { findByRole, getByText } = render(AgentHost, { agent: on('4c1d5ae07b9f4e22') });
  expect((await findByRole('link', { name: 'one' })).getAttribute('href')).toBe('/hosts/one');
  getByText('online');
});

test('an agent that says nothing of its machine asks for nothing, and no machine is no match', async () => {
  const list = vi.spyOn(hosts, 'list').mockResolvedValue({ items: [host({ machine_id: '' })] });
  render(AgentHost, { agent: { description: null } });
  expect(list).not.toHaveBeenCalled();
  const { container } = render(AgentHost, { agent: on('') });
  await vi.waitFor(() => expect(list).toHaveBeenCalled());
  expect(container.querySelector('a')).toBeNull();
});
