// Problems: a verdict in words, a way to each place.
import { fireEvent, render } from '@testing-library/svelte';
import { expect, test, vi } from 'vitest';
import type { Problem } from '../lib/configs';
import ProblemList from './ProblemList.svelte';

const problem: Problem = { file: '', line: 3, column: 5, severity: 'error', message: 'bad indentation' };

test('errors keep a revision from being saved, and each leads to its place', async () => {
  const ongo = vi.fn();
  const { getByText, getByRole } = render(ProblemList, { props: { problems: [problem, { ...problem, severity: 'warning' }], state: 'checked', ongo } });
  getByText('1 error and 1 warning. A revision with errors cannot be saved.');
  await fireEvent.click(getByRole('button', { name: /^error unnamed file:3:5 bad indentation/ }));
  expect(ongo).toHaveBeenCalledWith(problem);
});

test('no answer is not called good', async () => {
  const { getByRole, rerender } = render(ProblemList, { props: { problems: [], state: 'unchecked', ongo: () => {} } });
  expect(getByRole('status').textContent).toContain('Not checked');
  await rerender({ state: 'checked' });
  expect(getByRole('status').textContent).toBe('The server finds nothing wrong.');
});
