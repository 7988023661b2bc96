// What can be done to a host: each says its reach, what has no way back asks for the name, what cannot be says why.
import { fireEvent, render } from '@testing-library/svelte';
import { afterEach, expect, test, vi } from 'vitest';
import { hosts } from '../lib/hosts';
import { router } from '../lib/router.svelte';
import { session } from '../lib/session.svelte';
import { host } from '../testing/hosts';
import HostActions from './HostActions.svelte';

afterEach(() => {
  session.user = null;
  vi.restoreAllMocks();
});
const show = (over = {}) => render(HostActions, { host: host(over), etag: '"7"', ondone: () => {} });

test('a host is cordoned after its plan was shown', async () => {
  session.user = { name: 'olga', role: 'operator' };
  const change = vi.spyOn(hosts, 'change').mockResolvedValue({ value: host(), etag: null, status: 200 });
  const { getByRole, getByText } = show();
  await fireEvent.click(getByRole('button', { name: 'Cordon' }));
  getByText('Nothing new is placed on it. The 2 replicas there run on until they are deployed elsewhere.');
  getByText('muster hosts set one --cordon');
  await fireEvent.submit(getByRole('button', { name: 'Cordon one', hidden: true }).closest('form')!);
  await vi.waitFor(() => expect(change).toHaveBeenCalledWith('hst_1', { mode: 'cordoned' }, '"7"'));
});

test('a host on which something runs cannot be removed, and it is said why', () => {
  session.user = { name: 'olga', role: 'operator' };
  const button = show().getByRole('button', { name: 'Remove this host' }) as HTMLButtonElement;
  expect(button.disabled).toBe(true);
  expect(document.getElementById(button.getAttribute('aria-describedby') ?? '')?.textContent).toContain('2 replicas are meant to run here');
});

test('removing asks for the name', async () => {
  session.user = { name: 'olga', role: 'operator' };
  const remove = vi.spyOn(hosts, 'remove').mockResolvedValue({ value: undefined, etag: null, status: 204 });
  const go = vi.spyOn(router, 'go').mockImplementation(() => {});
  const { getByRole, getByLabelText } = show({ replicas: 0, ready: 0, state: 'offline' });
  expect(getByRole('link', { name: 'Put another machine in its place' }).getAttribute('href')).toBe('/hosts/add?replace=one');
  await fireEvent.click(getByRole('button', { name: 'Remove this host' }));
  const button = getByRole('button', { name: 'Remove one', hidden: true }) as HTMLButtonElement;
  expect(button.disabled).toBe(true);
  await fireEvent.input(getByLabelText(/^Type one/), { target: { value: 'one' } });
  await fireEvent.submit(button.closest('form')!);
  await vi.waitFor(() => expect(remove).toHaveBeenCalledWith('hst_1'));
  await vi.waitFor(() => expect(go).toHaveBeenCalledWith('/hosts'));
});

test('a host that adopts may be let to remove, and only after its name', async () => {
  session.user = { name: 'olga', role: 'operator' };
  const { getByRole } = show({ adopting: true });
  await fireEvent.click(getByRole('button', { name: 'Let it remove what is unknown' }));
  expect((getByRole('button', { name: 'Let one remove containers', hidden: true }) as HTMLButtonElement).disabled).toBe(true);
});

test('who may not act is told who may, once', () => {
  const { getAllByText, queryByRole } = show();
  expect(getAllByText(/This needs the role operator/)).toHaveLength(1);
  expect(queryByRole('button', { name: 'Remove this host' })).toBeNull();
});
