// What a file wants: variables are given on, a missing secret is set where it is missed.
import { fireEvent, render } from '@testing-library/svelte';
import { afterEach, expect, test, vi } from 'vitest';
import { services } from '../lib/services';
import { session } from '../lib/session.svelte';
import WishInputs from './WishInputs.svelte';

afterEach(() => {
  session.user = null;
  vi.restoreAllMocks();
});
const missing = { variables: ['TAG'], files: ['./web.env'], secrets: ['db'] };
const props = { project: 'shop', variables: ['TAG', 'PORT'], missing, given: { variables: {}, files: {} }, onchange: () => {}, onset: () => {} };

test('a variable is marked while it is missing, and its value is handed on', async () => {
  const onchange = vi.fn();
  const { getByLabelText, getByText } = render(WishInputs, { ...props, onchange });
  getByText('2 variables that the file uses');
  getByText('not given');
  await fireEvent.input(getByLabelText(/^TAG\s+not set/), { target: { value: '2' } });
  expect(onchange).toHaveBeenCalledWith({ variables: { TAG: '2' }, files: {} });
});

test('a secret is set in place, and then it is asked again', async () => {
  session.user = { name: 'olga', role: 'operator' };
  const set = vi.spyOn(services, 'setSecret').mockResolvedValue({ value: undefined, etag: null, status: 204 });
  const onset = vi.fn();
  const { getByLabelText, getByRole } = render(WishInputs, { ...props, onset });
  await fireEvent.input(getByLabelText(/^The secret db of shop is/), { target: { value: 'hush' } });
  await fireEvent.submit(getByRole('button', { name: 'Set 1 secret' }).closest('form')!);
  await vi.waitFor(() => expect(onset).toHaveBeenCalled());
  expect(set).toHaveBeenCalledWith('shop', 'db', new TextEncoder().encode('hush'));
});
