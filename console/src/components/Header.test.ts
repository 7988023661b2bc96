// The bar: which page is open, and a lost stream said in words.
import { render } from '@testing-library/svelte';
import { flushSync } from 'svelte';
import { expect, test } from 'vitest';
import { live } from '../lib/live.svelte';
import Header from './Header.svelte';

test('the open page is marked and a lost stream is said', () => {
  const { getByRole, getByText } = render(Header, { page: 'revision', onhelp: () => {} });
  expect(getByRole('link', { name: 'Configurations' }).getAttribute('aria-current')).toBe('page');
  expect(getByRole('link', { name: 'Agents' }).getAttribute('aria-current')).toBeNull();
  live.status = 'lost';
  flushSync();
  getByText(/not live, trying again/);
  live.status = 'connecting';
});
