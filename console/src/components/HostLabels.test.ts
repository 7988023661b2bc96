// Labels and paths of a host: edited as lines with the version that was seen, and the command that does the same.
import { fireEvent, render } from '@testing-library/svelte';
import { afterEach, expect, test, vi } from 'vitest';
import { hosts } from '../lib/hosts';
import { session } from '../lib/session.svelte';
import { host } from '../testing/hosts';
import HostLabels from './HostLabels.svelte';

afterEach(() => {
  session.user = null;
  vi.restoreAllMocks();
});

test('labels are saved with the version that was seen', async () => {
  session.user = { name: 'olga', role: 'operator' };
  const change = vi.spyOn(hosts, 'change').mockResolvedValue({ value: host(), etag: '"8"', status: 200 });
  const ondone = vi.fn();
  const { getByRole, getByLabelText, getByText } = render(HostLabels, { host: host({ labels: { zone: 'a' } }), etag: '"7"', what: 'labels', ondone });
  await fireEvent.click(getByRole('button', { name: 'Edit labels' }));
  const box = getByLabelText(/One key=value/);
  await fireEvent.input(box, { target: { value: 'zone' } });
  getByText('“zone” has no “=”.');
  await fireEvent.input(box, { target: { value: 'zone=b' } });
  getByText('muster hosts set one -l zone=b');
  await fireEvent.submit(box.closest('form')!);
  await vi.waitFor(() => expect(ondone).toHaveBeenCalled());
  expect(change).toHaveBeenCalledWith('hst_1', { labels: { zone: 'b' } }, '"7"');
});

test('paths are for admins, and must be absolute', async () => {
  session.user = { name: 'olga', role: 'operator' };
  const props = { host: host(), etag: null, what: 'paths' as const, ondone: () => {} };
  const first = render(HostLabels, props);
  first.getByText('This needs the role admin; you are signed in as operator.');
  first.unmount();
  session.user = { name: 'ada', role: 'admin' };
  const { getByRole, getByLabelText, getByText } = render(HostLabels, props);
  await fireEvent.click(getByRole('button', { name: 'Edit paths' }));
  await fireEvent.input(getByLabelText(/One path/), { target: { value: '/srv/../etc' } });
  getByText('“/srv/../etc” is no absolute path without “..”.');
  expect((getByRole('button', { name: 'Save the paths of one', hidden: true }) as HTMLButtonElement).disabled).toBe(true);
});
