// Registries: set by admins, and a refusal of the server is told.
import { fireEvent, render } from '@testing-library/svelte';
import { afterEach, expect, test, vi } from 'vitest';
import { ApiError } from '../lib/api';
import { services } from '../lib/services';
import { session } from '../lib/session.svelte';
import RegistryList from './RegistryList.svelte';

afterEach(() => {
  session.user = null;
  vi.restoreAllMocks();
});

test('it needs all three, and what the server refuses is told', async () => {
  session.user = { name: 'admin', role: 'admin' };
  vi.spyOn(services, 'registries').mockResolvedValue([]);
  const set = vi.spyOn(services, 'setRegistry').mockRejectedValue(new ApiError(422, 'not accepted', 'registry is a host name'));
  const { getByLabelText, getByRole, getByText, findByText } = render(RegistryList);
  getByText('It needs a registry, a user and a password.');
  await fireEvent.input(getByLabelText('Registry'), { target: { value: 'a/b' } });
  await fireEvent.input(getByLabelText('User'), { target: { value: 'robot' } });
  await fireEvent.input(getByLabelText('Password or token'), { target: { value: 'hush' } });
  await fireEvent.submit(getByRole('button', { name: 'Set 1 registry' }).closest('form')!);
  await findByText('It was not set: not accepted');
  expect(set).toHaveBeenCalledWith('a/b', 'robot', 'hush');
});

test('an operator is told who may', async () => {
  session.user = { name: 'olga', role: 'operator' };
  vi.spyOn(services, 'registries').mockResolvedValue([]);
  render(RegistryList).getByText(/This needs the role admin/);
});
