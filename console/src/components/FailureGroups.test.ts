// Failures: one group for each reason, the largest first, with agents to look at.
import { render } from '@testing-library/svelte';
import { expect, test } from 'vitest';
import FailureGroups from './FailureGroups.svelte';

test('agents with one reason are one group', () => {
  const agent = (uid: string, error: string | null) => ({ instance_uid: uid, name: uid, host: null, connection: 'connected' as const, state: 'failed', revision: 3, error, released: true });
  const agents = [agent('a', 'out of memory'), ...['b', 'c', 'd', 'e'].map((uid) => agent(uid, 'unknown type'))];
  const { container, getByText } = render(FailureGroups, { agents });
  expect([...container.querySelectorAll('strong')].map((one) => one.textContent)).toEqual(['4 agents', '1 agent']);
  getByText(/and 1 more/);
});
