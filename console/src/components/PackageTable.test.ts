// Packages in rows, with what went wrong; another shape stays a tree.
import { render } from '@testing-library/svelte';
import { expect, test } from 'vitest';
import PackageTable from './PackageTable.svelte';

test('a package says what it has, what it was offered, and why it failed', async () => {
  const failed = { agent_has_version: '1.2.0', server_offered_version: '1.3.0', status: 'install_failed', error: 'no space left' };
  const { getByRole, getByText, rerender } = render(PackageTable, { statuses: { 'edge-agent': failed } });
  expect(getByRole('row', { name: /edge-agent/ }).textContent?.replace(/\s+/g, ' ').trim()).toMatch(/edge-agent ?1\.2\.0 ?1\.3\.0/);
  getByText('no space left');
  await rerender({ statuses: { odd: 7 } });
  getByText('odd');
});
