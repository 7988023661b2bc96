// Users: one is added and the password shown once; a refusal of the server is told.
import { fireEvent, render } from '@testing-library/svelte';
import { afterEach, expect, test, vi } from 'vitest';
import { access } from '../lib/access';
import { ApiError } from '../lib/api';
import { session } from '../lib/session.svelte';
import UserList from './UserList.svelte';

afterEach(() => {
  session.user = null;
  vi.restoreAllMocks();
});
const olga = { name: 'olga', role: 'admin' as const, created_at: '2026-11-30T03:00:00.000Z', disabled: false };

test('a user is added with a password that is shown once', async () => {
  vi.spyOn(access, 'users').mockResolvedValue({ items: [olga] });
  vi.spyOn(access, 'addUser').mockResolvedValue({ value: { ...olga, name: 'eve', password: 'made-by-server' }, etag: null, status: 201 });
  const { getByLabelText, getByRole, findByText } = render(UserList);
  await fireEvent.input(getByLabelText('Name'), { target: { value: 'eve' } });
  await fireEvent.submit(getByRole('button', { name: 'Add a user' }).closest('form')!);
  await findByText('made-by-server');
});

test('on an own account nothing is offered that locks one out, and it is said who can', async () => {
  vi.spyOn(access, 'users').mockResolvedValue({ items: [olga, { ...olga, name: 'eve' }] });
  session.user = { name: 'olga', role: 'admin' };
  const { findAllByRole, getByText, getByRole } = render(UserList);
  const [own, other] = (await findAllByRole('button', { name: 'Delete' })) as HTMLButtonElement[];
  expect([own?.disabled, other?.disabled]).toEqual([true, false]);
  expect(own?.getAttribute('aria-describedby')).toBe(getByText('another admin can do that to you').id);
  await fireEvent.click(other!);
  getByText('muster users rm eve');
  getByRole('heading', { name: 'Delete eve?', hidden: true });
});

test('the last admin stays, and it is said why', async () => {
  vi.spyOn(access, 'users').mockResolvedValue({ items: [olga] });
  vi.spyOn(access, 'changeUser').mockRejectedValue(new ApiError(409, 'the last admin', 'there must be one'));
  const { findByLabelText, findByText } = render(UserList);
  await fireEvent.change(await findByLabelText('Role of olga'), { target: { value: 'viewer' } });
  await findByText('It was not done: the last admin');
});
