// Tabs: arrows move, the shown panel is named by its tab.
import { fireEvent, render } from '@testing-library/svelte';
import { createRawSnippet } from 'svelte';
import { expect, test } from 'vitest';
import Tabs from './Tabs.svelte';

test('arrow keys choose the next tab and wrap around', async () => {
  const panel = createRawSnippet((id: () => string) => ({ render: () => `<p>${id()}</p>`, setup: () => {} }));
  const tabs = [{ id: 'a', label: 'First' }, { id: 'b', label: 'Second' }];
  const { getByRole } = render(Tabs, { tabs, label: 'Kinds', panel });
  expect(getByRole('tab', { name: 'First' }).getAttribute('aria-selected')).toBe('true');
  await fireEvent.keyDown(getByRole('tablist'), { key: 'ArrowRight' });
  expect(document.activeElement).toBe(getByRole('tab', { name: 'Second' }));
  expect(getByRole('tabpanel').getAttribute('aria-labelledby')).toBe(getByRole('tab', { name: 'Second' }).id);
  await fireEvent.keyDown(getByRole('tablist'), { key: 'ArrowRight' });
  expect(getByRole('tab', { name: 'First' }).getAttribute('aria-selected')).toBe('true');
});
