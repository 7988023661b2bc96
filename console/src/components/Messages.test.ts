// The messages of an agent: nothing is asked for before they are opened, and a viewer is told why there are none.
import { fireEvent, render } from '@testing-library/svelte';
import { afterEach, expect, test, vi } from 'vitest';
import { history } from '../lib/history';
import { session } from '../lib/session.svelte';
import Messages from './Messages.svelte';

afterEach(() => {
  session.user = null;
  vi.restoreAllMocks();
});

function opened(container: HTMLElement): Promise<void> {
  const details = container.querySelector('details')!;
  details.open = true;
  return fireEvent(details, new Event('toggle')) as unknown as Promise<void>;
}

test('asking begins when it is opened', async () => {
  session.user = { name: 'olga', role: 'operator' };
  const asked = vi.spyOn(history, 'messages').mockResolvedValue({
    kept_until: '2026-11-30T03:01:00.000Z',
    items: [{ at: '2026-11-30T03:00:00.000Z', direction: 'from agent', size: 1234, body: { instance_uid: 'u', health: { healthy: true } } }],
  });
  const { container, findByText } = render(Messages, { uid: 'u' });
  expect(asked).not.toHaveBeenCalled();
  await opened(container);
  await findByText('→ from agent');
  await findByText('health');
  expect(asked).toHaveBeenCalledWith('u');
});

test('a viewer is told that it takes an operator', async () => {
  session.user = { name: 'vera', role: 'viewer' };
  const asked = vi.spyOn(history, 'messages');
  const { container, findByText } = render(Messages, { uid: 'u' });
  await opened(container);
  await findByText(/This needs the role operator/);
  expect(asked).not.toHaveBeenCalled();
});
