// Messages: urgent ones interrupt, the server's words are folded but whole.
import { render } from '@testing-library/svelte';
import { expect, test } from 'vitest';
import Notice from './Notice.svelte';

test('a failure is an alert with the whole text of the server folded', () => {
  const { getByRole, container } = render(Notice, { tone: 'bad', title: 'It failed.', raw: 'cause: <b>x</b>' });
  getByRole('alert');
  expect(container.querySelector('details')?.open).toBe(false);
  expect(container.querySelector('pre')?.textContent).toBe('cause: <b>x</b>');
});

test('news does not interrupt', () => {
  render(Notice, { title: 'Saved.' }).getByRole('status');
});
