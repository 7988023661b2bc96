// A failed call: nothing while there is none, the reason when there is one.
import { render } from '@testing-library/svelte';
import { expect, test } from 'vitest';
import { ApiError } from '../lib/api';
import Fault from './Fault.svelte';

test('what somebody else changed is told as that', async () => {
  const { container, rerender, getByText } = render(Fault, { what: 'It was not paused', error: null });
  expect(container.textContent?.trim()).toBe('');
  await rerender({ error: new ApiError(412, 'changed-meanwhile', 'x') });
  getByText('It was not paused: somebody else changed it meanwhile');
});
