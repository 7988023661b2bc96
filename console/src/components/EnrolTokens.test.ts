// Enrolment tokens: what one still does is told in words, and taking one away says how many agents go with it.
import { fireEvent, render } from '@testing-library/svelte';
import { afterEach, expect, test, vi } from 'vitest';
import { access, type EnrolToken } from '../lib/access';
import { session } from '../lib/session.svelte';
import EnrolTokens from './EnrolTokens.svelte';

afterEach(() => {
  session.user = null;
  vi.restoreAllMocks();
});
const token: EnrolToken = { id: '3', label: 'edge', created_at: '2026-11-30T03:00:00.000Z', expires_at: null, revoked_at: null, last_used_at: null, agents: 0 };

test('a token says whether it still enrols, and how many agents have it', async () => {
  const old = { ...token, id: '1', label: 'old', expires_at: '2026-01-01T00:00:00.000Z', agents: 7 };
  vi.spyOn(access, 'enrolTokens').mockResolvedValue({ items: [token, old, { ...token, id: '2', label: 'gone', revoked_at: '2026-11-30T04:00:00.000Z' }] });
  const { findByText, getByText, queryByRole } = render(EnrolTokens);
  await findByText('enrols new agents');
  getByText('closed for new agents');
  getByText('revoked');
  getByText('7');
  expect(queryByRole('button', { name: /^Revoke/ })).toBeNull();
});

test('a token is revoked after a question that names its reach', async () => {
  session.user = { name: 'olga', role: 'operator' };
  vi.spyOn(access, 'enrolTokens').mockResolvedValue({ items: [token] });
  const revoke = vi.spyOn(access, 'revokeEnrolToken').mockResolvedValue({ value: undefined, etag: null, status: 204 });
  const { findByRole, getByRole } = render(EnrolTokens);
  await fireEvent.click(await findByRole('button', { name: 'Revoke the enrolment token edge' }));
  await fireEvent.submit(getByRole('button', { name: 'Revoke 1 token and disconnect 0 agents', hidden: true }).closest('form')!);
  await vi.waitFor(() => expect(revoke).toHaveBeenCalledWith('3'));
});
