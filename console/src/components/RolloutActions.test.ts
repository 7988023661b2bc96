// What can be done with an assignment: by state, by role, and with the reach on the button.
import { fireEvent, render } from '@testing-library/svelte';
import { afterEach, expect, test, vi } from 'vitest';
import { assignments } from '../lib/assignments';
import { session } from '../lib/session.svelte';
import { assignment } from '../testing/agents';
import RolloutActions from './RolloutActions.svelte';

const revision = (number: number) => ({ number, author: 'olga', message: `m${number}`, created_at: '2026-11-30T03:00:00.000Z', hash: '', files: [], assignments: 0 });
const props = { assignment: assignment(), etag: '"4"', revisions: [3, 2, 1].map(revision), ondone: () => {} };

afterEach(() => {
  session.user = null;
  vi.restoreAllMocks();
});

test('a viewer is told why nothing can be done', () => {
  session.user = { name: 'eve', role: 'viewer' };
  render(RolloutActions, { props }).getByText(/This needs the role operator/);
});

test('rolling back names revision and reach, and goes all at once', async () => {
  session.user = { name: 'olga', role: 'operator' };
  const roll = vi.spyOn(assignments, 'roll').mockResolvedValue({ value: assignment(), etag: null, status: 200 });
  const { getByRole, getByText } = render(RolloutActions, { props });
  await fireEvent.click(getByRole('button', { name: 'Roll back to revision 2' }));
  getByText(/38 agents are given revision 2, all at once/);
  await fireEvent.submit(getByRole('button', { name: 'Roll back 38 agents', hidden: true }).closest('form')!);
  await vi.waitFor(() => expect(roll).toHaveBeenCalledWith('7', 2, 100));
});

test('a paused rollout resumes for those that wait, and says that faults are forgiven', async () => {
  session.user = { name: 'olga', role: 'operator' };
  const paused = assignment({ state: 'paused', pause: { kind: 'failed', agent: 'a', text: 'a failed' } });
  const { getByRole, getByText } = render(RolloutActions, { props: { ...props, assignment: paused } });
  await fireEvent.click(getByRole('button', { name: 'Resume for 22 agents' }));
  getByText(/faults seen so far are forgiven/);
});
