// The health tree: trouble is open, the rest folded, and depth has an end.
import { render } from '@testing-library/svelte';
import { expect, test } from 'vitest';
import type { Health } from '../lib/api';
import { HOSTILE } from '../testing/agents';
import HealthTree from './HealthTree.svelte';

const node = (healthy: boolean, components: Record<string, Health> = {}, last_error: string | null = null): Health => ({ healthy, components, last_error });

test('branches with trouble are open, healthy ones are folded', () => {
  const health = node(false, { good: node(true, { leaf: node(true) }), bad: node(true, { leaf: node(false, {}, `broke: ${HOSTILE}`) }) });
  const { container, getByText } = render(HealthTree, { name: 'collector', health });
  expect([...container.querySelectorAll('details')].map((one) => one.open)).toEqual([true, false, true]);
  getByText(/^broke: '><img src=x/);
  expect(container.querySelector('img')).toBeNull();
});

test('a report that nests too deeply is cut, not followed', () => {
  let health = node(true);
  for (let depth = 0; depth < 400; depth += 1) health = node(true, { [`d${depth}`]: health });
  const { container } = render(HealthTree, { name: 'deep', health });
  expect(container.querySelectorAll('.node').length).toBeLessThan(20);
  expect(container.textContent).toContain('1 more below');
});
