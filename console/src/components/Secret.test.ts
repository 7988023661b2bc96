// A secret: shown, and gone for good when put away.
import { fireEvent, render } from '@testing-library/svelte';
import { expect, test, vi } from 'vitest';
import Secret from './Secret.svelte';

test('a secret is put away', async () => {
  const onclose = vi.fn();
  const { getByText, getByRole } = render(Secret, { props: { title: 'A token', text: 'muster_api_x', name: 'token', onclose } });
  getByText('muster_api_x');
  await fireEvent.click(getByRole('button', { name: 'I have it' }));
  expect(onclose).toHaveBeenCalled();
});
