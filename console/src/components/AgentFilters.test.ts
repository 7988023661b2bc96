// Filters: what they ask for, and the complaint at the selector.
import { fireEvent, render } from '@testing-library/svelte';
import { expect, test, vi } from 'vitest';
import { readQuery } from '../lib/agent-query';
import { ApiError } from '../lib/api';
import AgentFilters from './AgentFilters.svelte';

test('a bad selector is marked at its box with the reason', () => {
  const error = new ApiError(400, 'bad selector', "column 3: expected a value, found '='", 'selector');
  const { getByLabelText, getByRole } = render(AgentFilters, { query: readQuery('?selector=a=='), error, onchange: () => {} });
  expect(getByLabelText('Selector').getAttribute('aria-invalid')).toBe('true');
  expect(getByRole('alert').textContent).toContain("column 3: expected a value, found '='");
});

test('filters ask at once, typing asks when it pauses', async () => {
  vi.useFakeTimers();
  const onchange = vi.fn();
  const { getByLabelText } = render(AgentFilters, { query: readQuery(''), error: null, onchange });
  await fireEvent.change(getByLabelText('State'), { target: { value: 'silent' } });
  expect(onchange).toHaveBeenLastCalledWith({ state: 'silent' }, false);
  await fireEvent.input(getByLabelText('Search'), { target: { value: 'o' } });
  await fireEvent.input(getByLabelText('Search'), { target: { value: 'ot' } });
  expect(onchange).toHaveBeenCalledTimes(1);
  vi.advanceTimersByTime(300);
  expect(onchange).toHaveBeenLastCalledWith({ q: 'ot' }, true);
  expect(onchange).toHaveBeenCalledTimes(2);
  vi.useRealTimers();
});
