// The bar of marked agents: a selector goes straight to composing, marks go by a label.
import { fireEvent, render } from '@testing-library/svelte';
import { afterEach, expect, test, vi } from 'vitest';
import { readQuery } from '../lib/agent-query';
import { router } from '../lib/router.svelte';
import { session } from '../lib/session.svelte';
import BulkBar from './BulkBar.svelte';

afterEach(() => {
  session.user = null;
  vi.restoreAllMocks();
});
const handlers = { onall: () => {}, onclear: () => {}, ondone: () => {} };

test('all that a selector matches are assigned by it', async () => {
  session.user = { name: 'olga', role: 'operator' };
  const go = vi.spyOn(router, 'go').mockImplementation(() => {});
  const chosen = { kind: 'all' as const, query: readQuery('?selector=env%3Dprod'), total: 38 };
  const { getByRole } = render(BulkBar, { props: { chosen, total: 38, ...handlers } });
  await fireEvent.click(getByRole('button', { name: 'Assign a configuration to 38 agents' }));
  expect(go).toHaveBeenCalledWith('/new-assignment?selector=env%3Dprod');
});

test('marked agents are given a label to be assigned by; a viewer is told why not', async () => {
  session.user = { name: 'olga', role: 'operator' };
  const chosen = { kind: 'some' as const, uids: ['a', 'b'] };
  const { getByRole, getByText, unmount } = render(BulkBar, { props: { chosen, total: 38, ...handlers } });
  getByRole('button', { name: 'Mark all 38 agents that match' });
  await fireEvent.click(getByRole('button', { name: 'Assign a configuration to 2 agents' }));
  getByText(/Give these 2 agents a label of their own/);
  unmount();
  session.user = { name: 'eve', role: 'viewer' };
  render(BulkBar, { props: { chosen, total: 38, ...handlers } }).getByText(/This needs the role operator/);
});
