// A lost update: who saved what meanwhile, both differences, both ways on.
import { fireEvent, render } from '@testing-library/svelte';
import { expect, test, vi } from 'vitest';
import { configs } from '../lib/configs';
import LostUpdate from './LostUpdate.svelte';

test('both versions are shown and either can be gone on with', async () => {
  const diff = { files: [], changes: [{ area: 'exporter', name: 'theirs', change: 'added' as const, detail: '' }] };
  vi.spyOn(configs, 'diff').mockResolvedValue(diff);
  vi.spyOn(configs, 'diffFiles').mockResolvedValue({ ...diff, changes: [{ ...diff.changes[0]!, name: 'mine' }] });
  const onkeep = vi.fn();
  const ondrop = vi.fn();
  const latest = { number: 4, author: 'olga', message: 'more memory', created_at: '2026-11-30T03:00:00.000Z', files: [] };
  const { findByText, getByRole } = render(LostUpdate, { props: { name: 'web', basedOn: 3, latest, mine: [], onkeep, ondrop } });
  await findByText('theirs');
  await findByText('mine');
  getByRole('heading', { name: /Revision 4 was saved by olga/ });
  await fireEvent.click(getByRole('button', { name: /as revision 5/ }));
  await fireEvent.click(getByRole('button', { name: /Drop my draft/ }));
  expect([onkeep.mock.calls.length, ondrop.mock.calls.length]).toEqual([1, 1]);
  vi.restoreAllMocks();
});
