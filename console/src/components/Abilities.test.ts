// Abilities: what is missing says why.
import { render } from '@testing-library/svelte';
import { expect, test } from 'vitest';
import { abilities } from '../lib/capabilities';
import { summary } from '../testing/agents';
import Abilities from './Abilities.svelte';

test('abilities and what is missing are two lists, the second with reasons', () => {
  const { getByRole, container } = render(Abilities, { abilities: abilities(summary()) });
  expect(getByRole('list', { name: 'Can' }).children).toHaveLength(2);
  expect(getByRole('list', { name: 'Cannot' }).children).toHaveLength(14);
  expect(container.querySelectorAll('.why')).toHaveLength(14);
});
