// How far a deployment is: what a service waits for, why it failed, and no progress where it went back.
import { render } from '@testing-library/svelte';
import { expect, test } from 'vitest';
import { deployment } from '../testing/services';
import DeployedTable from './DeployedTable.svelte';

test('under way: releases, ready of wanted, what it waits for', () => {
  const { container } = render(DeployedTable, { deployment: deployment() });
  expect(container.textContent).toMatch(/waits for\s*replica 2 to be ready/);
  expect(container.textContent).toContain('release 2 → 3');
  expect(container.textContent).toContain('1 of 2');
  expect(container.querySelector('rect.waiting')?.getAttribute('width')).toBe('50');
});

test('back again: the reason, and nothing that looks like progress', () => {
  const [one] = deployment().services;
  const { container, getByText } = render(DeployedTable, { deployment: deployment({ state: 'rolled back', services: [{ ...one!, state: 'failed', waits_for: null, reason: 'pull access denied' }] }) });
  getByText('pull access denied');
  expect(container.querySelector('svg rect.ground')).toBeNull();
});
