// A rollout in a list: a link to it, and why it is paused.
import { render } from '@testing-library/svelte';
import { expect, test } from 'vitest';
import { assignment } from '../testing/agents';
import RolloutLine from './RolloutLine.svelte';

test('a paused rollout says why', () => {
  const pause = { kind: 'failed' as const, agent: 'a', text: 'host-3 could not apply it' };
  const { getByRole, getByText } = render(RolloutLine, { assignment: assignment({ state: 'paused', pause }) });
  expect(getByRole('link', { name: 'web revision 3' }).getAttribute('href')).toBe('/assignments/7');
  getByText('host-3 could not apply it');
  getByText('paused');
});
