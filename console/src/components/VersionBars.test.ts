// Versions as bars: each leads to its agents, whatever its name is made of.
import { render } from '@testing-library/svelte';
import { expect, test } from 'vitest';
import VersionBars from './VersionBars.svelte';

test('a bar leads to the agents it counts', () => {
  const versions = [{ name: 'otelcol', version: '0.149.0', agents: 40 }, { name: 'odd one', version: null, agents: 1 }];
  const { getAllByRole } = render(VersionBars, { versions });
  expect(getAllByRole('link').map((link) => decodeURIComponent(link.getAttribute('href') ?? ''))).toEqual([
    '/agents?selector=service.name=otelcol,service.version=0.149.0',
    '/agents?selector=service.name="odd one",!service.version',
  ]);
});
