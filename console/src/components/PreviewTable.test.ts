// The preview: counts by outcome, and for each agent that is not reached the reason.
import { render } from '@testing-library/svelte';
import { expect, test } from 'vitest';
import type { Preview } from '../lib/assignments';
import PreviewTable from './PreviewTable.svelte';

test('who gets it, who has it, and why others do not', () => {
  const row = { host: 'h', connection: 'connected' as const, now: null, reason: null };
  const preview: Preview = {
    matched: 4, gets: 2, changes: 1, offline: 0, incapable: 1, outranked: 0, overridden: 1, batches: 1, total: 4,
    agents: [{ ...row, instance_uid: 'a', name: 'a', outcome: 'gets' }, { ...row, instance_uid: 'b', name: 'b', outcome: 'not configurable', reason: 'it is the extension' }],
  };
  const { getByText, getAllByRole } = render(PreviewTable, { preview });
  expect(getAllByRole('listitem').map((item) => item.textContent?.replace(/\s+/g, ' ').trim())).toEqual(['1 gets it', '1 has it', '1 not configurable', '1 overridden']);
  getByText('it is the extension');
  getByText('The first 2 of 4 agents that match.');
});
