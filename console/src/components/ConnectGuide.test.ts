// The guide: one tab per kind, the first shows what to do.
import { fireEvent, render } from '@testing-library/svelte';
import { expect, test } from 'vitest';
import ConnectGuide from './ConnectGuide.svelte';

test('every kind of agent has its tab', async () => {
  const { getAllByRole, getByRole, getByText, queryByText } = render(ConnectGuide);
  expect(getAllByRole('tab').map((tab) => tab.textContent)).toEqual(['Collector, supervised', 'Collector, as it is', 'Your own program', 'Host', 'Just try it']);
  await fireEvent.click(getByRole('tab', { name: 'Host' }));
  expect(getByRole('link', { name: 'Make the command for it here' }).getAttribute('href')).toBe('/hosts/add');
  expect(queryByText(/enrolment token/)).toBeNull();
  await fireEvent.click(getByRole('tab', { name: 'Just try it' }));
  getByText('muster dev');
});
