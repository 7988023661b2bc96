// The box for selectors: suggestions by keyboard, and what is handed on.
import { fireEvent, render } from '@testing-library/svelte';
import { expect, test, vi } from 'vitest';
import { knownFrom } from '../lib/complete';
import { summary } from '../testing/agents';
import SelectorInput from './SelectorInput.svelte';

const source = async () => knownFrom([summary({ labels: { env: 'prod' } })]);

test('arrows and Enter take a key, then its value; Enter again hands it on', async () => {
  const onchange = vi.fn();
  const { getByRole, findByRole } = render(SelectorInput, { value: '', label: 'Selector', onchange, source });
  const box = getByRole('combobox', { name: 'Selector' }) as HTMLInputElement;
  await fireEvent.focus(box);
  await fireEvent.input(box, { target: { value: 'en' } });
  await findByRole('option', { name: 'env' });
  await fireEvent.keyDown(box, { key: 'ArrowDown' });
  expect(box.getAttribute('aria-activedescendant')).toBe(getByRole('option', { name: 'env' }).id);
  expect(getByRole('option', { name: 'env', selected: true })).toBeTruthy();
  await fireEvent.keyDown(box, { key: 'Enter' });
  expect(box.value).toBe('env=');
  await fireEvent.keyDown(box, { key: 'ArrowDown' });
  await fireEvent.keyDown(box, { key: 'Enter' });
  expect(box.value).toBe('env=prod');
  expect(onchange).not.toHaveBeenCalled();
  await fireEvent.keyDown(box, { key: 'Enter' });
  expect(onchange).toHaveBeenCalledWith('env=prod');
});
