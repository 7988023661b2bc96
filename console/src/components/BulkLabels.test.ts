// Bulk labels: the reach on the button, the outcome item by item in words.
import { fireEvent, render } from '@testing-library/svelte';
import { afterEach, expect, test, vi } from 'vitest';
import { api } from '../lib/api';
import BulkLabels from './BulkLabels.svelte';

afterEach(() => void vi.restoreAllMocks());

test('what came of it is told in numbers', async () => {
  vi.spyOn(api, 'write').mockResolvedValue({ value: { matched: 2, changed: 1 }, etag: null, status: 200 });
  const ondone = vi.fn();
  const { getByLabelText, getByRole } = render(BulkLabels, { props: { chosen: { kind: 'some', uids: ['a', 'b', 'c'] }, ondone, onclose: () => {} } });
  const button = getByRole('button', { name: 'Label 3 agents', hidden: true }) as HTMLButtonElement;
  expect(button.disabled).toBe(true);
  await fireEvent.input(getByLabelText(/^Set/), { target: { value: 'env=prod' } });
  expect(button.disabled).toBe(false);
  await fireEvent.submit(button.closest('form')!);
  await vi.waitFor(() => expect(ondone).toHaveBeenCalledWith('1 agent labelled, 1 agent had it so already, 1 agent not there any more.', 'env=prod'));
});
