// Dialogs: opened modal, named by their title, closed by their button.
import { fireEvent, render } from '@testing-library/svelte';
import { expect, test, vi } from 'vitest';
import KeyHelp from './KeyHelp.svelte';

test('the help lists the keys and closes', async () => {
  const onclose = vi.fn();
  const { getByText, getByRole } = render(KeyHelp, { onclose });
  getByText('go to the agents');
  await fireEvent.click(getByRole('button', { name: 'Close', hidden: true }));
  expect(onclose).toHaveBeenCalled();
});
