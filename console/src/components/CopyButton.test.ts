// Copying, with and without the browser's clipboard.
import { fireEvent, render } from '@testing-library/svelte';
import { expect, test, vi } from 'vitest';
import CopyButton from './CopyButton.svelte';

test('the text is copied and the button says so', async () => {
  const writeText = vi.fn(async () => {});
  vi.stubGlobal('navigator', { clipboard: { writeText } });
  const { getByRole, findByText } = render(CopyButton, { text: 'muster dev', what: 'command' });
  await fireEvent.click(getByRole('button', { name: 'Copy command' }));
  await findByText('Copied');
  expect(writeText).toHaveBeenCalledWith('muster dev');
  vi.unstubAllGlobals();
});

test('without a clipboard it says that nothing was copied', async () => {
  vi.stubGlobal('navigator', {});
  const { getByRole, findByText } = render(CopyButton, { text: 'x', what: 'id' });
  await fireEvent.click(getByRole('button'));
  await findByText('Not copied');
  vi.unstubAllGlobals();
});
