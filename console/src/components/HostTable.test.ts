// The table of hosts: words beside marks, hostile text as text, what is not live is not shown as if it were.
import { render } from '@testing-library/svelte';
import { expect, test } from 'vitest';
import { HOSTILE } from '../testing/agents';
import { host } from '../testing/hosts';
import HostTable from './HostTable.svelte';

test('a host tells its state, what is wrong, and its room', () => {
  const problems = ['no container engine answers there', 'its clock is 9 s ahead', 'a third'];
  const { getByText, getByRole } = render(HostTable, { hosts: [host({ mode: 'cordoned', labels: { zone: 'a' }, problems })] });
  for (const word of ['online', 'cordoned', 'zone=a', 'no container engine answers there', 'its clock is 9 s ahead', '2 of 2', '75 %', '4.0 GiB free']) getByText(word);
  expect(getByRole('link', { name: 'and 1 more' }).getAttribute('href')).toBe('/hosts/one');
});

test('the load of a host that is away is not shown as if it were now', () => {
  const { getByTitle, getByText } = render(HostTable, { hosts: [host({ state: 'offline', since: null, last_seen: null, address: null, replicas: 0 })] });
  for (const of of ['CPU', 'Memory', 'Disk']) expect(getByTitle(new RegExp(`^${of}: .*, as it was last$`)).classList).toContain('old');
  for (const word of ['offline', 'never', 'none']) getByText(word);
});

test('a host that is online is heard now, however long the page is open', () => {
  const hosts = [host({ last_seen: '2026-01-01T00:00:00.000Z' })];
  render(HostTable, { hosts }).getByRole('cell', { name: 'now' });
});

test('what hosts say is only text', () => {
  const { container, getAllByText } = render(HostTable, { hosts: [host({ engine: HOSTILE, problems: [HOSTILE, HOSTILE] })] });
  expect(getAllByText(/\\u202egnp/)).toHaveLength(2);
  expect(container.querySelector('img')).toBeNull();
});
