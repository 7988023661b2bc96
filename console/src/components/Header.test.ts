// The bar: figures as links to their lists, and a lost stream said in words.
import { render } from '@testing-library/svelte';
import { flushSync } from 'svelte';
import { expect, test } from 'vitest';
import { fleet } from '../lib/fleet.svelte';
import { live } from '../lib/live.svelte';
import Header from './Header.svelte';

test('figures lead to their lists and a lost stream is said', () => {
  fleet.overview = {
    version: '0', uptime_seconds: 1, agents: { connected: 1200, silent: 1, disconnected: 0, unhealthy: 2, total: 1201 },
    ca_fingerprint: null, opamp_endpoint: null, public_url: null,
  };
  const { getByRole, getByText } = render(Header, { page: 'agents', onhelp: () => {} });
  expect(getByRole('link', { name: '1\u202f200 connected' }).getAttribute('href')).toBe('/agents?state=connected');
  live.status = 'lost';
  flushSync();
  getByText(/not live, trying again/);
  live.status = 'connecting';
});
