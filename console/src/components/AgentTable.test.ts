// The table: cells, sorting, hostile names, rows that stay the same element when they change.
import { fireEvent, render } from '@testing-library/svelte';
import { expect, test, vi } from 'vitest';
import { HOSTILE, summary } from '../testing/agents';
import AgentTable from './AgentTable.svelte';

const row = (over = {}) => ({ agent: summary(over), forgotten: false });

test('s38 a hostile name is shown as text', () => {
  const { container, getByRole } = render(AgentTable, { rows: [row({ name: HOSTILE, host: HOSTILE, version: HOSTILE })], sort: 'name', onsort: () => {} });
  expect(container.querySelector('img')).toBeNull();
  expect(getByRole('link').textContent).toBe(`'><img src=x onerror="alert(1)">\\u202egnp`);
});

test('a row that turns silent stays the same row', async () => {
  const { container, rerender, getByText } = render(AgentTable, { rows: [row()], sort: 'name', onsort: () => {} });
  const before = container.querySelector('tbody tr');
  await rerender({ rows: [row({ state: 'silent' })] });
  getByText('silent');
  expect(container.querySelector('tbody tr')).toBe(before);
});

test('a click on a head asks for its order, and the order is told', async () => {
  const onsort = vi.fn();
  const { getByRole } = render(AgentTable, { rows: [], sort: '-last_seen', onsort });
  expect(getByRole('columnheader', { name: /Last seen/ }).getAttribute('aria-sort')).toBe('descending');
  await fireEvent.click(getByRole('button', { name: /Name/ }));
  expect(onsort).toHaveBeenCalledWith('name');
});

test('columns are those that were chosen, and rows can be marked', async () => {
  const onmark = vi.fn();
  const { getByRole, queryByRole } = render(AgentTable, { rows: [row({ labels: { env: 'prod' } })], sort: 'name', columns: ['labels', 'name'], onsort: () => {}, onmark });
  expect(queryByRole('columnheader', { name: 'Host' })).toBeNull();
  expect(getByRole('row', { name: /otelcol/ }).textContent).toContain('env=prod');
  await fireEvent.click(getByRole('checkbox', { name: 'Mark otelcol' }));
  expect(onmark).toHaveBeenCalledWith(['0195f0a0-7d0c-7cc0-8000-000000000001'], true);
});
