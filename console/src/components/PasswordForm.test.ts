// The own password: long enough, typed twice alike, and a wrong current one told.
import { fireEvent, render } from '@testing-library/svelte';
import { afterEach, expect, test, vi } from 'vitest';
import { access } from '../lib/access';
import PasswordForm from './PasswordForm.svelte';

afterEach(() => void vi.restoreAllMocks());

test('the button says what is missing until nothing is', async () => {
  const change = vi.spyOn(access, 'changePassword').mockResolvedValue({ value: undefined, etag: null, status: 204 });
  const { getByLabelText, getByText, getByRole, findByText } = render(PasswordForm);
  getByText('Type your current password.');
  await fireEvent.input(getByLabelText('Current password'), { target: { value: 'old' } });
  getByText('A password has at least 12 characters.');
  await fireEvent.input(getByLabelText('New password'), { target: { value: 'long enough now' } });
  getByText('The new passwords differ.');
  await fireEvent.input(getByLabelText('New password again'), { target: { value: 'long enough now' } });
  await fireEvent.submit(getByRole('button', { name: 'Change my password' }).closest('form')!);
  await findByText(/other sessions are signed out/);
  expect(change).toHaveBeenCalledWith('old', 'long enough now');
});
