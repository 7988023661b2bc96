// Saved views: links that give the list again, and saving what is shown.
import { fireEvent, render } from '@testing-library/svelte';
import { afterEach, expect, test, vi } from 'vitest';
import { readQuery } from '../lib/agent-query';
import { session } from '../lib/session.svelte';
import { views } from '../lib/views';
import SavedViews from './SavedViews.svelte';

afterEach(() => {
  session.user = null;
  vi.restoreAllMocks();
});

test('a view is a link, and what is shown can be saved', async () => {
  session.user = { name: 'olga', role: 'operator' };
  vi.spyOn(views, 'list').mockResolvedValue({ items: [{ id: '1', name: 'Ill', query: { health: 'unhealthy', q: null, sort: 'name' }, created_by: 'olga' }] });
  const save = vi.spyOn(views, 'save').mockResolvedValue();
  const query = readQuery('?state=silent');
  const { findByRole, getByLabelText, getByRole } = render(SavedViews, { props: { query, onclose: () => {} } });
  expect((await findByRole('link', { name: 'Ill', hidden: true })).getAttribute('href')).toBe('/agents?health=unhealthy');
  await fireEvent.input(getByLabelText(/^Save these filters/), { target: { value: 'Quiet' } });
  await fireEvent.submit(getByRole('button', { name: 'Save the view', hidden: true }).closest('form')!);
  await vi.waitFor(() => expect(save).toHaveBeenCalledWith('Quiet', query));
});
