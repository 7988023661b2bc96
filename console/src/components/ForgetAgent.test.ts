// Forgetting: off with a reason while the agent is here; asks for the name when it is gone.
import { fireEvent, render } from '@testing-library/svelte';
import { expect, test } from 'vitest';
import { detail } from '../testing/agents';
import ForgetAgent from './ForgetAgent.svelte';

test('an agent that is here cannot be forgotten, and it is said why', () => {
  const { getByRole } = render(ForgetAgent, { agent: detail() });
  const button = getByRole('button', { name: 'Forget this agent' }) as HTMLButtonElement;
  expect(button.disabled).toBe(true);
  expect(document.getElementById(button.getAttribute('aria-describedby') ?? '')?.textContent).toContain('Only a disconnected agent');
});

test('the name must be typed', async () => {
  const { getByRole, getByLabelText } = render(ForgetAgent, { agent: detail({ state: 'disconnected' }) });
  await fireEvent.click(getByRole('button', { name: 'Forget this agent' }));
  const button = getByRole('button', { name: 'Forget otelcol', hidden: true }) as HTMLButtonElement;
  expect(button.disabled).toBe(true);
  await fireEvent.input(getByLabelText('Name of the agent'), { target: { value: 'otelcol' } });
  expect(button.disabled).toBe(false);
});
