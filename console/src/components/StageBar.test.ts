// The bar of a rollout: parts in proportion, the same in words, batches marked.
import { render } from '@testing-library/svelte';
import { expect, test } from 'vitest';
import { assignment } from '../testing/agents';
import StageBar from './StageBar.svelte';

test('parts are as wide as their share and are told in words too', () => {
  const { getByRole, container, getAllByRole } = render(StageBar, { assignment: assignment() });
  expect(getByRole('img').getAttribute('aria-label')).toContain('12 of 38 agents have it');
  expect(Number(container.querySelector('.in-sync')?.getAttribute('width'))).toBeCloseTo((12 / 38) * 1000);
  expect(getAllByRole('listitem').map((item) => item.textContent?.replace(/\s+/g, ' ').trim())).toEqual(['batch 4 of 10', '12 in sync', '3 applying', '1 failed', '22 waiting']);
  expect(container.querySelectorAll('.border')).toHaveLength(9);
});
