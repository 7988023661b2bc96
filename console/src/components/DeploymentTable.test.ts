// Deployments: how each ended and why it went back.
import { render } from '@testing-library/svelte';
import { expect, test } from 'vitest';
import { deployment } from '../testing/services';
import DeploymentTable from './DeploymentTable.svelte';

test('state, reason and whose it was', () => {
  const { getByRole, container } = render(DeploymentTable, { deployments: [deployment({ state: 'rolled back', reason: 'web: no such image' })] });
  expect(getByRole('link', { name: '7' }).getAttribute('href')).toBe('/deployments/7');
  expect(getByRole('link', { name: 'shop' }).getAttribute('href')).toBe('/projects/shop');
  expect(container.textContent).toMatch(/rolled back\s*web: no such image/);
  expect(container.textContent).toContain('by olga');
});
