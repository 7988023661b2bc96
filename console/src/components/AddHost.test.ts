// Adding a host: the command is shown once, with what comes of it; who may not make one is told so.
import { fireEvent, render } from '@testing-library/svelte';
import { afterEach, expect, test, vi } from 'vitest';
import { hosts } from '../lib/hosts';
import { session } from '../lib/session.svelte';
import { host, joinToken } from '../testing/hosts';
import AddHost from './AddHost.svelte';

afterEach(() => {
  session.user = null;
  vi.restoreAllMocks();
});

test('the command is made for the name that was asked for, and shown until the next one', async () => {
  session.user = { name: 'olga', role: 'operator' };
  vi.spyOn(hosts, 'tokens').mockResolvedValue({ items: [joinToken()] });
  const add = vi.spyOn(hosts, 'addToken').mockResolvedValue({ ...joinToken(), token: 'mst_join_x', command: 'sh muster-join.sh mst_join_x' });
  const onmade = vi.fn();
  const { getByLabelText, getByText, findByText, getByRole, queryByLabelText } = render(AddHost, { known: [host()], onmade });
  await fireEvent.input(getByLabelText('Name'), { target: { value: 'web-1' } });
  getByText('muster hosts add web-1');
  await fireEvent.submit(getByRole('button', { name: 'Make the command' }).closest('form')!);
  await findByText('sh muster-join.sh mst_join_x');
  expect(add).toHaveBeenCalledWith('web-1', 3600, '');
  expect(onmade).toHaveBeenCalledOnce();
  await findByText('the machine joins');
  await fireEvent.click(getByRole('button', { name: 'Add another host' }));
  expect(queryByLabelText('command for the machine')).toBeNull();
});

test('a command that was used is folded', async () => {
  session.user = { name: 'olga', role: 'operator' };
  vi.spyOn(hosts, 'tokens').mockResolvedValue({ items: [joinToken({ state: 'used', used_by: 'one' })] });
  vi.spyOn(hosts, 'get').mockResolvedValue({ value: host(), etag: null, status: 200 });
  vi.spyOn(hosts, 'addToken').mockResolvedValue({ ...joinToken(), token: 'mst_join_x', command: 'sh muster-join.sh mst_join_x' });
  const { findByText, getByText, getByRole, queryByText } = render(AddHost, {});
  await fireEvent.submit(getByRole('button', { name: 'Make the command' }).closest('form')!);
  await findByText('The command has been used and does not work again');
  expect(getByText('sh muster-join.sh mst_join_x').closest('details')?.open).toBe(false);
  expect(queryByText(/Run this on the machine/)).toBeNull();
});

test('a machine can take the place of a host, and a viewer is told who may', async () => {
  const { getByText, getByRole, queryByLabelText } = render(AddHost, { known: [host()], replace: 'one' });
  getByText('muster hosts add --replace one');
  expect(queryByLabelText('Name')).toBeNull();
  expect((getByRole('button', { name: 'Make the command' }) as HTMLButtonElement).disabled).toBe(true);
  getByText('This needs the role operator; you are signed in as viewer.');
});
