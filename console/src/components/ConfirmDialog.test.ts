// A question: the reason is handed on, the name must be typed, a refusal stays in the dialog.
import { fireEvent, render } from '@testing-library/svelte';
import { expect, test, vi } from 'vitest';
import { ApiError } from '../lib/api';
import { words } from '../testing/words';
import ConfirmDialog from './ConfirmDialog.svelte';

test('the name must be typed; the reason is handed on; then it closes', async () => {
  const act = vi.fn(async () => {});
  const onclose = vi.fn();
  const { getByRole, getByLabelText } = render(ConfirmDialog, { title: 'Delete?', action: 'Delete web', typed: 'web', reason: true, act, onclose, children: words('It is gone.') });
  const button = getByRole('button', { name: 'Delete web', hidden: true }) as HTMLButtonElement;
  expect(button.disabled).toBe(true);
  await fireEvent.input(getByLabelText(/^Type/), { target: { value: 'web' } });
  await fireEvent.input(getByLabelText(/^Reason/), { target: { value: ' old ' } });
  await fireEvent.submit(button.closest('form')!);
  expect(act).toHaveBeenCalledWith('old');
  await vi.waitFor(() => expect(onclose).toHaveBeenCalled());
});

test('a refusal is told and the dialog stays', async () => {
  const onclose = vi.fn();
  const act = () => Promise.reject(new ApiError(409, 'in use', 'assigned once'));
  const { getByRole, findByText } = render(ConfirmDialog, { title: 'Delete?', action: 'Delete', act, onclose, children: words('x') });
  await fireEvent.submit(getByRole('button', { name: 'Delete', hidden: true }).closest('form')!);
  await findByText('It was not done: in use');
  expect(onclose).not.toHaveBeenCalled();
});

test('the command that does the same stands beside the button', () => {
  const { getByText, getByRole } = render(ConfirmDialog, { title: 'Roll back?', action: 'Roll back', command: 'muster services rollback web', act: async () => {}, onclose: () => {}, children: words('x') });
  getByText('muster services rollback web');
  getByRole('button', { name: /command/, hidden: true });
});
