// Files of a draft: names by the server's rules, a file with text is not removed by one slip.
import { fireEvent, render } from '@testing-library/svelte';
import { expect, test, vi } from 'vitest';
import FileTabs from './FileTabs.svelte';

const files = [{ name: 'a.yaml', body: 'a: 1' }, { name: 'b.yaml', body: 'b: 1' }];

test('a name that is taken is said', () => {
  const { getByText, getByLabelText } = render(FileTabs, { props: { files: [files[0]!, files[0]!], open: 1, problems: [], onopen: () => {}, onchange: () => {} } });
  getByText('Another file has this name.');
  expect(getByLabelText('File name').getAttribute('aria-invalid')).toBe('true');
});

test('a file with text is removed only when asked twice', async () => {
  const onchange = vi.fn();
  const { getByRole } = render(FileTabs, { props: { files, open: 1, problems: [], onopen: () => {}, onchange } });
  await fireEvent.click(getByRole('button', { name: 'Remove this file' }));
  expect(onchange).not.toHaveBeenCalled();
  await fireEvent.click(getByRole('button', { name: /Really remove/ }));
  expect(onchange).toHaveBeenCalledWith([files[0]]);
});

test('another file gives the unnamed one a name', async () => {
  const onchange = vi.fn();
  const { getByRole } = render(FileTabs, { props: { files: [{ name: '', body: 'x' }], open: 0, problems: [], onopen: () => {}, onchange } });
  await fireEvent.click(getByRole('button', { name: 'Add a file' }));
  expect(onchange).toHaveBeenCalledWith([{ name: 'collector.yaml', body: 'x' }, { name: 'file-2.yaml', body: '' }]);
});
