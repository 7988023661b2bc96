// A page that is fetched: shown when it is there, told with its reason when it is not.
import { render } from '@testing-library/svelte';
import { expect, test } from 'vitest';
import LazyPage from './LazyPage.svelte';
import Age from './Age.svelte';

test('the page is given what its address holds', async () => {
  const { findByText } = render(LazyPage, { props: { load: async () => ({ default: Age }), props: { time: null, none: 'not at all' } } });
  await findByText('not at all');
});

test('a page that is gone says what to do', async () => {
  const { findByRole } = render(LazyPage, { props: { load: () => Promise.reject(new Error('404')) } });
  expect((await findByRole('alert')).textContent).toContain('may have been upgraded');
});
