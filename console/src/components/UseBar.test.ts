// The bar of what is in use: told in words too, and honest about what is not known.
import { render } from '@testing-library/svelte';
import { expect, test } from 'vitest';
import UseBar from './UseBar.svelte';

const use = { share: 0.95, used: '95 %', free: '0.8 GiB free', room: '0.8 GiB of 16.0 GiB free' };

test('what is left is said beside the bar, and little of it has a colour of its own', () => {
  const { container, getByText } = render(UseBar, { of: 'Memory', use });
  getByText('0.8 GiB of 16.0 GiB free');
  expect(container.querySelector('rect.full')?.getAttribute('width')).toBe('95');
});

test('what is not known is not drawn', () => {
  const { container, getByText } = render(UseBar, { of: 'Memory', use: null });
  getByText('not known');
  expect(container.querySelector('svg')).toBeNull();
});
