// Removing a project: its data only when that is said, which is for admins.
import { fireEvent, render } from '@testing-library/svelte';
import { afterEach, expect, test, vi } from 'vitest';
import { router } from '../lib/router.svelte';
import { services } from '../lib/services';
import { session } from '../lib/session.svelte';
import { service } from '../testing/services';
import RemoveProject from './RemoveProject.svelte';

afterEach(() => {
  session.user = null;
  vi.restoreAllMocks();
});
const project = { name: 'shop', services: [service()], deployment: null, volumes: [{ name: 'data', host: 'eu-1', used: true }], created_at: '2026-11-30T03:00:00.000Z' };

test('volumes stay unless it is said otherwise, and the name must be typed', async () => {
  session.user = { name: 'olga', role: 'operator' };
  const remove = vi.spyOn(services, 'removeProject').mockResolvedValue({ value: undefined, etag: null, status: 204 });
  const go = vi.spyOn(router, 'go').mockImplementation(() => {});
  const { getByRole, getByLabelText, getByText } = render(RemoveProject, { project });
  await fireEvent.click(getByRole('button', { name: 'Remove this project' }));
  await fireEvent.click(getByLabelText(/^Remove it with all that is in it/));
  getByText('This needs the role admin; you are signed in as operator.');
  await fireEvent.click(getByLabelText(/^Keep 1 volume: data/));
  await fireEvent.input(getByLabelText(/^Type/), { target: { value: 'shop' } });
  await fireEvent.submit(getByRole('button', { name: 'Remove 1 service', hidden: true }).closest('form')!);
  await vi.waitFor(() => expect(go).toHaveBeenCalledWith('/services'));
  expect(remove).toHaveBeenCalledWith('shop', false);
});
