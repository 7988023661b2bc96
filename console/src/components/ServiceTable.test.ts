// A row says how a service is, where, and which deployment touched it last.
import { render } from '@testing-library/svelte';
import { expect, test } from 'vitest';
import { deployment, replica, service } from '../testing/services';
import ServiceTable from './ServiceTable.svelte';

test('state, ready of meant, hosts and the last deployment', () => {
  const web = service({ state: 'degraded', ready: 1, wanted: 2, replicas: [replica(), replica({ id: 'rep_2', number: 2, host: 'edge-7', host_online: false })] });
  const { getByRole, container } = render(ServiceTable, { services: [web], deployments: [deployment({ id: '9' }), deployment()], caption: 'Services of shop' });
  expect(getByRole('link', { name: 'web' }).getAttribute('href')).toBe('/services/shop/web');
  expect(getByRole('link', { name: '9' }).getAttribute('href')).toBe('/deployments/9');
  expect(container.textContent).toMatch(/degraded\s*1\s*of 2/);
  expect(container.textContent).toMatch(/edge-7\s*offline/);
});
