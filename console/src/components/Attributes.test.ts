// Attributes keep their types, and a repeated key is shown twice.
import { render } from '@testing-library/svelte';
import { expect, test } from 'vitest';
import Attributes from './Attributes.svelte';

test('s5 each attribute is shown with the type that it was sent with', () => {
  const attributes = [
    { key: 'process.pid', type: 'int', value: '42' },
    { key: 'zones', type: 'array', value: ['a', 'b'] },
    { key: 'zones', type: 'string', value: '42' },
  ];
  const { container } = render(Attributes, { attributes, caption: 'Describing' });
  const cells = [...container.querySelectorAll('tbody tr')].map((row) => [...row.children].map((cell) => cell.textContent));
  expect(cells).toEqual([['process.pid', '42', 'int'], ['zones', '["a","b"]', 'array'], ['zones', '42', 'string']]);
});
