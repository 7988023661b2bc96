// Signing in: a wrong password is said, a lost login has its command.
import { fireEvent, render } from '@testing-library/svelte';
import { expect, test, vi } from 'vitest';
import { ApiError } from '../lib/api';
import { session } from '../lib/session.svelte';
import SignIn from './SignIn.svelte';

test('a wrong password is said, kept out of the field, and the way to a new login is shown', async () => {
  vi.spyOn(session, 'signIn').mockRejectedValue(new ApiError(401, 'not signed in', 'no'));
  const { getByLabelText, getByRole, findByText, getByText } = render(SignIn);
  await fireEvent.input(getByLabelText('User name'), { target: { value: 'admin' } });
  await fireEvent.input(getByLabelText('Password'), { target: { value: 'wrong' } });
  await fireEvent.submit(getByRole('button', { name: 'Sign in' }).closest('form')!);
  await findByText('The name or the password is wrong.');
  expect((getByLabelText('Password') as HTMLInputElement).value).toBe('');
  getByText('muster admin reset-login --data-dir DIRECTORY');
});
