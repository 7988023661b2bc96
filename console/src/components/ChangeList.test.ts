// Differences by meaning, and the warning when pipelines go.
import { render } from '@testing-library/svelte';
import { expect, test } from 'vitest';
import ChangeList from './ChangeList.svelte';

test('a removed pipeline is said to stop what went through it', () => {
  const changes = [
    { area: 'pipeline', name: 'traces', change: 'removed' as const, detail: '' },
    { area: 'exporter', name: 'otlp', change: 'changed' as const, detail: 'endpoint: "a" → "b"' },
  ];
  const { getByText, getAllByRole } = render(ChangeList, { changes });
  getByText('1 pipeline is removed: what went through it stops.');
  expect(getAllByRole('listitem').map((item) => item.textContent?.replace(/\s+/g, ' ').trim())).toEqual([
    '− pipeline traces removed', '~ exporter otlp changed endpoint: "a" → "b"',
  ]);
});

test('a difference without meaning is said to be one', () => {
  render(ChangeList, { changes: [] }).getByText(/No component, pipeline or setting differs/);
});
