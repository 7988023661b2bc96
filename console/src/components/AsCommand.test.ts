// The twins of a screen.
import { render } from '@testing-library/svelte';
import { expect, test } from 'vitest';
import AsCommand from './AsCommand.svelte';

test('both twins can be copied', () => {
  const { getByText, getByRole } = render(AsCommand, { command: 'muster agents list', call: 'curl /api/v1/agents' });
  getByText('muster agents list');
  getByText('curl /api/v1/agents');
  getByRole('button', { name: 'Copy command', hidden: true });
  getByRole('button', { name: 'Copy API call', hidden: true });
});

test('s38 what an agent put into a command is written out on the screen', () => {
  const { container } = render(AsCommand, { command: 'muster agents list --selector a\u202eb', call: 'x' });
  expect(container.querySelector('code')?.textContent).toBe('muster agents list --selector a\\u202eb');
});
