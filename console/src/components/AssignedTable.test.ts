// Agents of an assignment: who waits is not told by an old state.
import { fireEvent, render } from '@testing-library/svelte';
import { expect, test, vi } from 'vitest';
import AssignedTable from './AssignedTable.svelte';

test('an agent that is not released waits, and a filter is handed on', async () => {
  const agent = { instance_uid: 'a', name: 'a', host: null, connection: 'connected' as const, state: 'in sync', revision: 2, error: null, released: false };
  const onstate = vi.fn();
  const { container, getByLabelText } = render(AssignedTable, { props: { agents: [agent], total: 1, state: '', onstate } });
  expect(container.querySelector('tbody tr')?.textContent).toContain('waiting');
  await fireEvent.change(getByLabelText('State'), { target: { value: 'failed' } });
  expect(onstate).toHaveBeenCalledWith('failed');
});
