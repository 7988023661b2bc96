// Components by kind; hostile names stay text, another shape stays a tree.
import { render } from '@testing-library/svelte';
import { expect, test } from 'vitest';
import { HOSTILE } from '../testing/agents';
import BuiltWith from './BuiltWith.svelte';

test('kinds and their components are told, as text', async () => {
  const { container, getByText, rerender } = render(BuiltWith, { tree: { receivers: { components: { [HOSTILE]: { metadata: [{ key: 'version', type: 'string', value: 'v1' }] } } } } });
  getByText('receivers');
  getByText('v1');
  expect(container.querySelector('img')).toBeNull();
  await rerender({ tree: { odd: { deep: { value: 7 } } } });
  getByText('odd');
});
