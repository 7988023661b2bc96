// Parts of a thing: links, of which one is where we are.
import { render } from '@testing-library/svelte';
import { expect, test } from 'vitest';
import PartsNav from './PartsNav.svelte';

test('the part that is shown is told', () => {
  const { getByRole } = render(PartsNav, { label: 'Parts', parts: [{ href: '/a', name: 'A', here: true }, { href: '/b', name: 'B' }] });
  expect(getByRole('link', { name: 'A' }).getAttribute('aria-current')).toBe('page');
  expect(getByRole('link', { name: 'B' }).hasAttribute('aria-current')).toBe(false);
});
