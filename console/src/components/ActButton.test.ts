// A button that is off says why, to those who see it and to those who hear it.
import { fireEvent, render } from '@testing-library/svelte';
import { expect, test, vi } from 'vitest';
import { words } from '../testing/words';
import ActButton from './ActButton.svelte';

test('off with its reason, on without', async () => {
  const onclick = vi.fn();
  const { getByRole, rerender } = render(ActButton, { why: 'This needs the role operator.', onclick, children: words('Delete') });
  const button = getByRole('button', { name: 'Delete' }) as HTMLButtonElement;
  expect(button.disabled).toBe(true);
  expect(document.getElementById(button.getAttribute('aria-describedby') ?? '')?.textContent).toBe('This needs the role operator.');
  await rerender({ why: null });
  await fireEvent.click(button);
  expect(onclick).toHaveBeenCalledOnce();
});
