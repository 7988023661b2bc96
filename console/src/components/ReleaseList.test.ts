// Releases: which runs, what each changed, the way back for those who may.
import { fireEvent, render } from '@testing-library/svelte';
import { expect, test, vi } from 'vitest';
import { release } from '../testing/services';
import ReleaseList from './ReleaseList.svelte';

test('the one that runs is marked, every other one can be gone to', async () => {
  const onback = vi.fn();
  const releases = [release(3, { current: true }), release(2)];
  const { getByRole, getByText, getAllByRole } = render(ReleaseList, { releases, why: null, onback });
  getByText('runs');
  getByText('image nginx:1.22 → nginx:1.23');
  expect(getAllByRole('button')).toHaveLength(1);
  await fireEvent.click(getByRole('button', { name: 'Roll back to release 2' }));
  expect(onback).toHaveBeenCalledWith(releases[1]);
});

test('who may not go back is offered no button, and many are folded', async () => {
  const { queryByRole, getByRole, getAllByRole } = render(ReleaseList, { releases: Array.from({ length: 12 }, (_, at) => release(12 - at)), why: 'no', onback: () => {} });
  expect(queryByRole('button', { name: 'Roll back to release 2' })).toBeNull();
  expect(getAllByRole('listitem')).toHaveLength(8);
  await fireEvent.click(getByRole('button', { name: 'Show all 12' }));
  expect(getAllByRole('listitem')).toHaveLength(12);
});
