// What can be done with a service: the plan before, the deployment after, and the reason why not.
import { fireEvent, render } from '@testing-library/svelte';
import { afterEach, expect, test, vi } from 'vitest';
import { router } from '../lib/router.svelte';
import { services } from '../lib/services';
import { session } from '../lib/session.svelte';
import { deployment, release, service } from '../testing/services';
import ServiceActions from './ServiceActions.svelte';

afterEach(() => {
  session.user = null;
  vi.restoreAllMocks();
});
const props = { service: service(), releases: [release(3, { current: true }), release(2), release(1)], onclose: () => {} };
const answer = { value: deployment({ id: '12' }), etag: null, status: 201 };

test('a viewer is told why nothing can be done', () => {
  session.user = { name: 'eve', role: 'viewer' };
  render(ServiceActions, props).getByText(/This needs the role operator/);
});

test('scaling says what starts, and leads to its deployment', async () => {
  session.user = { name: 'olga', role: 'operator' };
  const scale = vi.spyOn(services, 'scale').mockResolvedValue(answer);
  const go = vi.spyOn(router, 'go').mockImplementation(() => {});
  const { getByRole, getByLabelText, getByText } = render(ServiceActions, props);
  await fireEvent.click(getByRole('button', { name: 'Scale' }));
  getByText('It has that many already.');
  await fireEvent.input(getByLabelText('Replicas'), { target: { value: '3' } });
  getByText(/goes from 1 to 3 replicas: 2 replicas are started/);
  getByText('muster services scale shop/web=3');
  expect(getByRole('link', { name: 'Deploy' }).getAttribute('href')).toBe('/deploy?project=shop');
  await fireEvent.submit(getByRole('button', { name: 'Scale to 3 replicas', hidden: true }).closest('form')!);
  await vi.waitFor(() => expect(go).toHaveBeenCalledWith('/deployments/12'));
  expect(scale).toHaveBeenCalledWith('shop', 'web', 3);
});

test('scaling a service with a volume says that its replicas share it', async () => {
  session.user = { name: 'olga', role: 'operator' };
  const { getByRole, getByLabelText, getByText } = render(ServiceActions, { ...props, service: service({ volumes: ['data'] }) });
  await fireEvent.click(getByRole('button', { name: 'Scale' }));
  await fireEvent.input(getByLabelText('Replicas'), { target: { value: '2' } });
  getByText(/They share the volume/);
});

test('going back says what is taken back; when nothing was to do, that is said', async () => {
  session.user = { name: 'olga', role: 'operator' };
  const back = vi.spyOn(services, 'rollBack').mockResolvedValue({ value: undefined, etag: null, status: 204 });
  const { getByRole, getByText, findByText } = render(ServiceActions, { ...props, back: release(1) });
  getByText('This is taken back:');
  getByText('muster services rollback shop/web --to 1');
  getByText('image nginx:1.22 → nginx:1.23');
  getByText('image nginx:1.21 → nginx:1.22');
  await fireEvent.submit(getByRole('button', { name: 'Roll 1 service back to release 1', hidden: true }).closest('form')!);
  await findByText('Nothing was done: it runs release 1 already.');
  expect(back).toHaveBeenCalledWith('shop', 'web', 1, '');
});

test('the way back leaves out releases that never served', () => {
  session.user = { name: 'olga', role: 'operator' };
  const releases = [release(3, { current: true }), release(2, { served: false }), release(1)];
  render(ServiceActions, { ...props, releases }).getByRole('button', { name: 'Roll back to release 1' });
});

test('removing asks for the name', async () => {
  session.user = { name: 'olga', role: 'operator' };
  const { getByRole, getByLabelText } = render(ServiceActions, props);
  await fireEvent.click(getByRole('button', { name: 'Remove' }));
  const button = getByRole('button', { name: 'Remove 1 service', hidden: true }) as HTMLButtonElement;
  expect(button.disabled).toBe(true);
  await fireEvent.input(getByLabelText(/^Type/), { target: { value: 'shop/web' } });
  expect(button.disabled).toBe(false);
});
