// API tokens: made with no more than the own role, shown once, revoked after a question.
import { fireEvent, render } from '@testing-library/svelte';
import { afterEach, expect, test, vi } from 'vitest';
import { access } from '../lib/access';
import { session } from '../lib/session.svelte';
import ApiTokens from './ApiTokens.svelte';

afterEach(() => {
  session.user = null;
  vi.restoreAllMocks();
});
const token = { id: '3', label: 'dashboards', role: 'viewer' as const, created_by: 'olga', created_at: '2026-11-30T03:00:00.000Z', expires_at: null, revoked_at: null, last_used_at: null };

test('no role above the own one can be given, and the text is shown once', async () => {
  session.user = { name: 'olga', role: 'operator' };
  vi.spyOn(access, 'tokens').mockResolvedValue({ items: [] });
  vi.spyOn(access, 'addToken').mockResolvedValue({ value: { ...token, token: 'muster_api_x' }, etag: null, status: 201 });
  const { getByLabelText, getByRole, findByText } = render(ApiTokens);
  expect([...(getByLabelText('Role') as HTMLSelectElement).options].map((one) => one.value)).toEqual(['viewer', 'operator']);
  await fireEvent.input(getByLabelText('Label'), { target: { value: 'ci' } });
  await fireEvent.submit(getByRole('button', { name: 'Make a token' }).closest('form')!);
  await findByText('muster_api_x');
});

test('a token is revoked after a question', async () => {
  vi.spyOn(access, 'tokens').mockResolvedValue({ items: [token] });
  const revoke = vi.spyOn(access, 'revoke').mockResolvedValue({ value: undefined, etag: null, status: 204 });
  const { findByRole, getByRole } = render(ApiTokens);
  await fireEvent.click(await findByRole('button', { name: 'Revoke dashboards' }));
  await fireEvent.submit(getByRole('button', { name: 'Revoke 1 token', hidden: true }).closest('form')!);
  await vi.waitFor(() => expect(revoke).toHaveBeenCalledWith('3'));
});
