// An agent's configuration: where it stands, why it cannot be configured and how it could, drift, pinning.
import { fireEvent, render } from '@testing-library/svelte';
import { afterEach, expect, test, vi } from 'vitest';
import { api } from '../lib/api';
import { configs } from '../lib/configs';
import { session } from '../lib/session.svelte';
import { detail, summary } from '../testing/agents';
import AgentConfig from './AgentConfig.svelte';

const standing = (over = {}) => ({ ...summary().config, ...over });

afterEach(() => {
  session.user = null;
  vi.restoreAllMocks();
});

test('an extension says why it cannot be configured, with the file to copy', () => {
  session.user = { name: 'olga', role: 'operator' };
  const reason = "this agent is the Collector's opamp extension: it can be seen, not configured; run it under the supervisor to configure it";
  const agent = detail({ capabilities: ['ReportsStatus', 'ReportsEffectiveConfig'], config: standing({ state: 'not configurable', reason }) });
  const { getByText, getByRole } = render(AgentConfig, { props: { agent, ondone: () => {} } });
  getByText(reason);
  getByText('opampsupervisor --config supervisor.yaml');
  expect((getByRole('button', { name: 'Pin to a revision' }) as HTMLButtonElement).disabled).toBe(true);
});

test('drift is listed by place, and a failure says its reason', async () => {
  const agent = detail({ config: standing({ state: 'drifted', config: 'web', revision: 3, assignment: '7' }), drift: [{ path: 'exporters.otlp.endpoint', offered: 'a', effective: null }] });
  const { getByText, getByRole, rerender } = render(AgentConfig, { props: { agent, ondone: () => {} } });
  getByText('exporters.otlp.endpoint');
  expect(getByRole('link', { name: 'assignment 7' }).getAttribute('href')).toBe('/assignments/7');
  await rerender({ agent: detail({ config: standing({ state: 'failed', config: 'web', revision: 3, reason: 'unknown type "x"' }) }), ondone: () => {} });
  getByText('unknown type "x"');
});

test('pinning says what to, and is sent', async () => {
  session.user = { name: 'olga', role: 'operator' };
  vi.spyOn(configs, 'list').mockResolvedValue({ items: [{ name: 'web', description: '', revision: 2, updated_at: '', author: '', assignments: 0, agents: 0 }], next_cursor: null, total: 1 });
  vi.spyOn(configs, 'history').mockResolvedValue({ items: [{ number: 2, author: '', message: '', created_at: '', hash: '', files: [], assignments: 0 }] });
  const write = vi.spyOn(api, 'write').mockResolvedValue({ value: {}, etag: null, status: 200 });
  const { getByRole, findByRole } = render(AgentConfig, { props: { agent: detail(), ondone: () => {} } });
  await fireEvent.click(getByRole('button', { name: 'Pin to a revision' }));
  const button = await findByRole('button', { name: 'Pin otelcol to web revision 2', hidden: true });
  await fireEvent.submit(button.closest('form')!);
  await vi.waitFor(() => expect(write).toHaveBeenCalledWith('PUT', '/agents/0195f0a0-7d0c-7cc0-8000-000000000001/config', { config: 'web', revision: 2 }));
});
