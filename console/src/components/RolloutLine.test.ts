// A rollout in a list: a link to it, and why it is paused.
import { render } from '@testing-library/svelte';
import { expect, test } from 'vitest';
import { assignment } from '../testing/agents';
import RolloutLine from './RolloutLine.svelte';

test('a paused rollout says why', () => {
  const pause = { kind: 'failed' as const, agent: 'a', agent_name: 'otelcol', host: 'host-3', text: 'unknown exporter' };
  const { getByRole, getByText } = render(RolloutLine, { assignment: assignment({ state: 'paused', pause }) });
  expect(getByRole('link', { name: 'web revision 3' }).getAttribute('href')).toBe('/assignments/7');
  getByText('otelcol on host-3: unknown exporter');
  getByText('paused');
});
