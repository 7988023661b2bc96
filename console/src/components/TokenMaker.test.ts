// Making a token: shown once, and what went wrong is said.
import { fireEvent, render } from '@testing-library/svelte';
import { expect, test, vi } from 'vitest';
import { api, ApiError } from '../lib/api';
import TokenMaker from './TokenMaker.svelte';

test('a token is made for a day and shown with the line that uses it', async () => {
  const made = { id: '1', label: 'eu', expires_at: '2026-12-01T03:15:00.000Z', token: "t'ok" };
  const create = vi.spyOn(api, 'createToken').mockResolvedValue(made);
  const { getByLabelText, getByRole, findByText } = render(TokenMaker);
  await fireEvent.input(getByLabelText('Label'), { target: { value: ' eu ' } });
  await fireEvent.submit(getByRole('button', { name: 'Make a token' }).closest('form')!);
  await findByText("export OPAMP_TOKEN='t'\\''ok'");
  expect(create).toHaveBeenCalledWith('eu', 86_400);
  vi.restoreAllMocks();
});

test('a refusal names the reason', async () => {
  vi.spyOn(api, 'createToken').mockRejectedValue(new ApiError(403, 'refused', 'not an administrator'));
  const { getByRole, findByText } = render(TokenMaker);
  await fireEvent.submit(getByRole('button', { name: 'Make a token' }).closest('form')!);
  await findByText('No token was made: refused');
  await findByText('not an administrator');
  vi.restoreAllMocks();
});
