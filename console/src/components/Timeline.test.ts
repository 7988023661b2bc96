// The timeline of an agent: who caused what, and the agent's own turns in words.
import { fireEvent, render } from '@testing-library/svelte';
import { afterEach, expect, test, vi } from 'vitest';
import { history, type TimelineItem } from '../lib/history';
import Timeline from './Timeline.svelte';

afterEach(() => vi.restoreAllMocks());
const item: TimelineItem = { at: '2026-11-30T03:00:00.000Z', action: 'agent.connected', object: 'agent/u', actor: null, text: 'by websocket from 10.1.0.7:4711', before: null, after: null };

test('what others did is told with who it was and what changed, and leads there', async () => {
  const rolled = { ...item, action: 'assignment.set-revision', object: 'assignment/7', actor: { kind: 'user', name: 'olga' }, text: null, before: { revision: 1 }, after: { revision: 2 } };
  vi.spyOn(history, 'timeline').mockResolvedValue({ items: [rolled, item] });
  const { findByText, getByText, getByTitle, getByRole } = render(Timeline, { uid: 'u' });
  await findByText('olga');
  getByTitle('assignment.set-revision');
  expect(getByRole('link', { name: 'assignment 7' }).getAttribute('href')).toBe('/assignments/7');
  getByText('connected');
  getByText('by websocket from 10.1.0.7:4711');
});

test('a long past is folded', async () => {
  vi.spyOn(history, 'timeline').mockResolvedValue({ items: Array.from({ length: 12 }, () => item) });
  const { findByRole, getAllByText } = render(Timeline, { uid: 'u' });
  const more = await findByRole('button', { name: 'Show all 12 turns' });
  expect(getAllByText('connected')).toHaveLength(8);
  await fireEvent.click(more);
  expect(getAllByText('connected')).toHaveLength(12);
});
