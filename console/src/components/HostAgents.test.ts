// The agents on a host's machine: asked for by its machine id, and what to do when there is none.
import { render } from '@testing-library/svelte';
import { afterEach, expect, test, vi } from 'vitest';
import { api } from '../lib/api';
import { summary } from '../testing/agents';
import { host } from '../testing/hosts';
import HostAgents from './HostAgents.svelte';

afterEach(() => vi.restoreAllMocks());

test('agents are asked for by the machine id and lead to their pages', async () => {
  const ask = vi.spyOn(api, 'agents').mockResolvedValue({ items: [summary()], next_cursor: null, total: 1 });
  const { findByRole, getByRole } = render(HostAgents, { host: host() });
  expect((await findByRole('link', { name: 'otelcol' })).getAttribute('href')).toBe('/agents/0195f0a0-7d0c-7cc0-8000-000000000001');
  expect(getByRole('link', { name: 'In the list of agents' }).getAttribute('href')).toBe('/agents?selector=host.id%3D4c1d5ae07b9f4e22');
  expect(ask).toHaveBeenCalledWith('selector=host.id%3D4c1d5ae07b9f4e22&limit=20');
});

test('those that are unhealthy are counted, also beyond the page that is shown', async () => {
  vi.spyOn(api, 'agents').mockImplementation((query) => Promise.resolve({ items: [summary({ healthy: false })], next_cursor: null, total: query.includes('health=unhealthy') ? 7 : 30 }));
  const onill = vi.fn();
  render(HostAgents, { host: host(), onill });
  await vi.waitFor(() => expect(onill).toHaveBeenLastCalledWith(7));
});

test('without one it is said what would show here', async () => {
  vi.spyOn(api, 'agents').mockResolvedValue({ items: [], next_cursor: null, total: 0 });
  await render(HostAgents, { host: host() }).findByText('host.id=4c1d5ae07b9f4e22');
});
