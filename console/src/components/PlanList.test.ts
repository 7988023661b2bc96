// A plan in words: what comes, changes and goes.
import { render } from '@testing-library/svelte';
import { expect, test } from 'vitest';
import PlanList from './PlanList.svelte';

test('each service with its change, its reach and what about it is another', () => {
  const one = { changes: [], update: '', hosts: [] };
  const services = [
    { ...one, name: 'web', change: 'changed' as const, changes: ['image nginx:1 → nginx:2'], replicas_before: 2, replicas_after: 3, update: 'one replica at a time', hosts: ['eu-1', 'eu-2'] },
    { ...one, name: 'old', change: 'removed' as const, replicas_before: 1, replicas_after: 0 },
  ];
  const { getAllByRole } = render(PlanList, { plan: { project: 'shop', services, warnings: [], refusals: [], text: [] } });
  const [first, second] = getAllByRole('listitem').map((item) => item.textContent?.replace(/\s+/g, ' '));
  expect(first).toContain('web changed: 2 → 3 replicas, one replica at a time, on eu-1, eu-2');
  expect(first).toContain('image nginx:1 → nginx:2');
  expect(second).toContain('old removed: 1 replica is stopped and removed; volumes stay');
});
