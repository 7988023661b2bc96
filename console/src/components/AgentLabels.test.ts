// The labels of one agent: links to those who share them, edited as lines.
import { fireEvent, render } from '@testing-library/svelte';
import { afterEach, expect, test, vi } from 'vitest';
import { api } from '../lib/api';
import { session } from '../lib/session.svelte';
import { detail } from '../testing/agents';
import AgentLabels from './AgentLabels.svelte';

afterEach(() => {
  session.user = null;
  vi.restoreAllMocks();
});

test('labels are edited as lines, and a bad line keeps them from being saved', async () => {
  session.user = { name: 'olga', role: 'operator' };
  const write = vi.spyOn(api, 'write').mockResolvedValue({ value: {}, etag: null, status: 200 });
  const ondone = vi.fn();
  const { getByRole, getByLabelText, getByText } = render(AgentLabels, { props: { agent: detail({ labels: { env: 'prod' } }), ondone } });
  expect(getByRole('link', { name: 'env=prod' }).getAttribute('href')).toBe('/agents?selector=env%3Dprod');
  await fireEvent.click(getByRole('button', { name: 'Edit labels' }));
  const box = getByLabelText(/One key=value/);
  await fireEvent.input(box, { target: { value: 'env' } });
  getByText('“env” has no “=”.');
  await fireEvent.input(box, { target: { value: 'env=lab' } });
  await fireEvent.submit(box.closest('form')!);
  await vi.waitFor(() => expect(ondone).toHaveBeenCalled());
  expect(write).toHaveBeenCalledWith('PUT', '/agents/0195f0a0-7d0c-7cc0-8000-000000000001/labels', { labels: { env: 'lab' } });
});
