// Facts: values, and what was not reported.
import { render } from '@testing-library/svelte';
import { expect, test } from 'vitest';
import KeyValues from './KeyValues.svelte';

test('a fact that was not reported says so, a zero does not', () => {
  const { container } = render(KeyValues, { facts: [{ name: 'Host', value: null }, { name: 'Number', value: 0 }] });
  expect([...container.querySelectorAll('dd')].map((dd) => dd.textContent?.trim())).toEqual(['not reported', '0']);
});
