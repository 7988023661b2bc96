// Join tokens: for whom each is and what came of it; taken back after a question.
import { fireEvent, render } from '@testing-library/svelte';
import { afterEach, expect, test, vi } from 'vitest';
import { hosts } from '../lib/hosts';
import { session } from '../lib/session.svelte';
import { Watched } from '../lib/watched.svelte';
import { joinToken } from '../testing/hosts';
import JoinTokens from './JoinTokens.svelte';

afterEach(() => {
  session.user = null;
  vi.restoreAllMocks();
});

test('a token that waits is taken back after a question; one that was used leads to its host', async () => {
  session.user = { name: 'olga', role: 'operator' };
  vi.spyOn(hosts, 'tokens').mockResolvedValue({ items: [joinToken({ host_name: 'web-1' }), joinToken({ id: '3', state: 'used', used_at: '2026-11-30T03:10:00.000Z', used_by: 'one' })] });
  const revoke = vi.spyOn(hosts, 'revokeToken').mockResolvedValue({ value: undefined, etag: null, status: 204 });
  const list = new Watched(() => hosts.tokens());
  await list.now();
  const { getByRole, getByText, queryByRole } = render(JoinTokens, { list });
  getByText('web-1');
  expect(getByRole('link', { name: 'one' }).getAttribute('href')).toBe('/hosts/one');
  expect(queryByRole('button', { name: 'Revoke join token 3' })).toBeNull();
  await fireEvent.click(getByRole('button', { name: 'Revoke join token 4' }));
  await fireEvent.submit(getByRole('button', { name: 'Revoke 1 token', hidden: true }).closest('form')!);
  await vi.waitFor(() => expect(revoke).toHaveBeenCalledWith('4'));
});

test('there is no column for actions where nothing can be done', async () => {
  session.user = { name: 'olga', role: 'operator' };
  vi.spyOn(hosts, 'tokens').mockResolvedValue({ items: [joinToken({ state: 'used', used_by: 'one' })] });
  const list = new Watched(() => hosts.tokens());
  await list.now();
  expect(render(JoinTokens, { list }).queryByRole('columnheader', { name: 'Actions' })).toBeNull();
});
