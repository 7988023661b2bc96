// Any JSON as a tree.
import { render } from '@testing-library/svelte';
import { expect, test } from 'vitest';
import { HOSTILE } from '../testing/agents';
import DataTree from './DataTree.svelte';

test('nested values are folded and shown as text', () => {
  const { container, getByText } = render(DataTree, { value: { receivers: { [HOSTILE]: { version: 'v1' } }, empty: null } });
  getByText('receivers');
  expect(container.querySelector('img')).toBeNull();
  expect(container.textContent).toContain('\\u202e');
});

test('a value that nests too deeply is cut', () => {
  let value: unknown = 1;
  for (let depth = 0; depth < 300; depth += 1) value = { [`k${depth}`]: value };
  expect(render(DataTree, { value }).container.querySelectorAll('details').length).toBeLessThan(20);
});
