// The history: newest first as given, long ones folded.
import { fireEvent, render } from '@testing-library/svelte';
import { expect, test } from 'vitest';
import RevisionList from './RevisionList.svelte';

test('a long history is folded until asked for', async () => {
  const revisions = Array.from({ length: 12 }, (_, at) => ({ number: 12 - at, author: 'olga', message: at ? '' : 'more memory', created_at: '2026-11-30T03:00:00.000Z', hash: '', files: [], assignments: 0 }));
  const { getAllByRole, getByRole, getByText } = render(RevisionList, { name: 'web', revisions });
  getByText('more memory');
  expect(getAllByRole('listitem')).toHaveLength(8);
  await fireEvent.click(getByRole('button', { name: 'Show all 12 revisions' }));
  expect(getAllByRole('listitem')).toHaveLength(12);
  expect(getByRole('link', { name: 'revision 12' }).getAttribute('href')).toBe('/configs/web/revisions/12');
});
