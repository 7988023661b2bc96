// A table that has too little room tells the rest in a second line of each row, and drops nothing.
import { createRawSnippet, type Snippet } from 'svelte';
import { render } from '@testing-library/svelte';
import { afterEach, expect, test, vi } from 'vitest';
import Table from './Table.svelte';

interface One { name: string; host: string }
const cell = createRawSnippet((id: () => string, row: () => One) => ({ render: () => `<i>${row()[id() as keyof One]}</i>` })) as unknown as Snippet<[string, unknown]>;
const rows = [{ name: 'web', host: 'eu-1' }, { name: 'db', host: '' }];
const columns = [{ id: 'name', head: 'Name', least: 100 }, { id: 'host', head: 'Host', least: 200, fold: 1 }];
const props = { caption: 'Things', columns, rows, key: (row: unknown) => (row as One).name, cell, has: (id: string, row: unknown) => (row as One)[id as keyof One] !== '' };

afterEach(() => vi.restoreAllMocks());
const wide = (px: number) => vi.spyOn(HTMLElement.prototype, 'clientWidth', 'get').mockReturnValue(px);
const lines = (container: HTMLElement) => [...container.querySelectorAll('tbody tr')].map((row) => row.textContent?.replace(/\s+/g, ' ').trim());

test('with room each column has its place', () => {
  wide(600);
  const { container, getAllByRole } = render(Table, props);
  expect(getAllByRole('columnheader').map((head) => head.textContent)).toEqual(['Name', 'Host']);
  expect(lines(container)).toEqual(['webeu-1', 'db']);
});

test('without room a column folds below, with its head, and a row that has nothing there has no second line', async () => {
  wide(240);
  const { container, findAllByRole } = render(Table, props);
  await vi.waitFor(async () => expect((await findAllByRole('columnheader')).map((head) => head.textContent)).toEqual(['Name']));
  expect(lines(container)).toEqual(['web', 'Host eu-1', 'db']);
  expect(container.querySelector('.below td')?.getAttribute('colspan')).toBe('1');
});

test('an empty table says so over its whole width', () => {
  wide(600);
  const { getByRole } = render(Table, { ...props, rows: [], none: 'There is none.' });
  expect(getByRole('cell', { name: 'There is none.' }).getAttribute('colspan')).toBe('2');
});
