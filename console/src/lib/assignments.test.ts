// What a plan takes the place of, and the commands that do the same as the console.
import { expect, test } from 'vitest';
import { planCommand, rollCommand, setCommand, takenOver, type Preview, type PreviewAgent } from './assignments';

const row = (outcome: PreviewAgent['outcome'], now: PreviewAgent['now'] = null): PreviewAgent => ({ instance_uid: 'u', name: null, host: null, connection: 'connected', reason: null, outcome, now });

test('what agents are given now is told by revision, with the assignments that give it', () => {
  const preview = { agents: [row('gets', { config: 'node', revision: 1 }), row('offline', { config: 'node', revision: 1 }), row('gets', { config: 'java', revision: 2 }), row('gets'), row('outranked', { config: 'node', revision: 1 })] } as Preview;
  const known = [{ id: '4', config: 'node', revision: 2, settled_revision: 1 }, { id: '5', config: 'java', revision: 2, settled_revision: 2 }, { id: '6', config: 'java', revision: 2, settled_revision: 2 }];
  expect(takenOver(preview, known)).toEqual([{ config: 'node', revision: 1, agents: 2, assignments: ['4'] }, { config: 'java', revision: 2, agents: 1, assignments: ['5', '6'] }]);
});

test('commands are those of the command line', () => {
  const plan = { config: 'web', revision: 3, selector: 'env=prod', priority: -1, batch_percent: 10 };
  expect(planCommand('create', plan)).toBe("muster assignments create web --selector env=prod --revision 3 --priority=-1 --batch-percent 10");
  expect(planCommand('preview', { ...plan, selector: ' ', revision: null, priority: 0 })).toBe('muster assignments preview web --all');
  expect(rollCommand('rollback', '7', 2, 100)).toBe('muster assignments rollback 7 2 --batch-percent 100');
  expect(setCommand('7', { selector: '', priority: 5, percent: 20 })).toBe('muster assignments set 7 --all --priority 5 --batch 20');
});
