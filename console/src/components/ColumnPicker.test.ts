// Columns: added in the order of the table, the name always there.
import { fireEvent, render } from '@testing-library/svelte';
import { expect, test, vi } from 'vitest';
import ColumnPicker from './ColumnPicker.svelte';

test('a column is added in its place', async () => {
  const onchange = vi.fn();
  const { getByLabelText } = render(ColumnPicker, { props: { columns: ['name', 'last_seen'], onchange, onclose: () => {} } });
  await fireEvent.click(getByLabelText('Labels'));
  expect(onchange).toHaveBeenCalledWith(['name', 'labels', 'last_seen']);
  expect((getByLabelText('Name') as HTMLInputElement).disabled).toBe(true);
});
