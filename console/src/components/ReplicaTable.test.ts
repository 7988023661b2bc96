// Replicas: what is wrong in the engine's words, and what is only known as it was last.
import { render } from '@testing-library/svelte';
import { expect, test } from 'vitest';
import { HOSTILE } from '../testing/agents';
import { replica } from '../testing/services';
import ReplicaTable from './ReplicaTable.svelte';

test('reason, phase, a host that is away, and the last lines', () => {
  const replicas = [
    replica({ state: 'failed', phase: 'starting', reason: 'port 8080/tcp is taken', last_lines: ['bind() failed'] }),
    replica({ id: 'rep_2', number: 2, state: 'stopped', phase: 'draining', host: 'edge-7', host_online: false, exit_code: 137 }),
  ];
  const { container, getByText } = render(ReplicaTable, { replicas });
  for (const text of ['port 8080/tcp is taken', 'comes', 'leaves', 'ended with exit code 137', 'offline', 'web-1 printed last', 'bind() failed']) getByText(text);
  expect(container.querySelectorAll('tbody tr')).toHaveLength(2);
});

test('s38 what a container says is text', () => {
  const { container } = render(ReplicaTable, { replicas: [replica({ reason: HOSTILE, last_lines: [HOSTILE] })] });
  expect(container.querySelector('img')).toBeNull();
  expect(container.textContent).not.toContain('\u202e');
});
