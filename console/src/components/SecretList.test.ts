// Secrets: names and who uses them, never contents; set, and removed by name.
import { fireEvent, render } from '@testing-library/svelte';
import { afterEach, expect, test, vi } from 'vitest';
import { services } from '../lib/services';
import { session } from '../lib/session.svelte';
import SecretList from './SecretList.svelte';

afterEach(() => {
  session.user = null;
  vi.restoreAllMocks();
});
const db = { name: 'db', version: 2, size_bytes: 24, used_by: ['web'], created_by: 'olga', created_at: '2026-11-30T03:00:00.000Z' };

test('a secret is set, and its content leaves the page', async () => {
  session.user = { name: 'olga', role: 'operator' };
  vi.spyOn(services, 'secrets').mockResolvedValue([db]);
  const set = vi.spyOn(services, 'setSecret').mockResolvedValue({ value: undefined, etag: null, status: 204 });
  const { findByText, getByLabelText, getByRole } = render(SecretList, { project: 'shop' });
  await findByText('version 2, 24 bytes');
  await fireEvent.input(getByLabelText('Name'), { target: { value: 'db' } });
  await fireEvent.input(getByLabelText('Content'), { target: { value: 'hush' } });
  await fireEvent.submit(getByRole('button', { name: 'Set it anew' }).closest('form')!);
  await findByText(/db is set\./);
  expect(set).toHaveBeenCalledWith('shop', 'db', new TextEncoder().encode('hush'));
  expect((getByLabelText('Content') as HTMLInputElement).value).toBe('');
});

test('a name that cannot be is told, and a viewer sees the names only', async () => {
  session.user = { name: 'eve', role: 'viewer' };
  vi.spyOn(services, 'secrets').mockResolvedValue([db]);
  const { findByText, getByText, queryByRole } = render(SecretList, { project: 'shop' });
  await findByText('db');
  getByText(/This needs the role operator/);
  expect(queryByRole('button', { name: 'Remove db' })).toBeNull();
});
