// The replicas of a host: state and phase, the reason of one that does not work, the way to its service.
import { render } from '@testing-library/svelte';
import { expect, test } from 'vitest';
import { HOSTILE } from '../testing/agents';
import { replica } from '../testing/hosts';
import HostReplicas from './HostReplicas.svelte';

test('each replica leads to its service, and says why it does not work', () => {
  const { getByRole, getByText, container } = render(HostReplicas, { replicas: [replica({ state: 'failed', phase: 'draining', reason: HOSTILE, started_at: null })] });
  expect(getByRole('link', { name: 'shop/web-1' }).getAttribute('href')).toBe('/services/shop/web');
  for (const word of ['failed', 'draining', 'not yet']) getByText(word);
  getByText(/\\u202egnp/);
  expect(container.querySelector('img')).toBeNull();
});

test('no replica is said', () => {
  render(HostReplicas, { replicas: [] }).getByText('None.');
});
