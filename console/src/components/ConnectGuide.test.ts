// The guide: one tab per kind, the first shows what to do.
import { fireEvent, render } from '@testing-library/svelte';
import { expect, test } from 'vitest';
import ConnectGuide from './ConnectGuide.svelte';

test('every kind of agent has its tab', async () => {
  const { getAllByRole, getByRole, getByText } = render(ConnectGuide);
  expect(getAllByRole('tab').map((tab) => tab.textContent)).toEqual(['Collector, supervised', 'Collector, as it is', 'Your own program', 'Just try it']);
  await fireEvent.click(getByRole('tab', { name: 'Just try it' }));
  getByText('muster dev');
});
