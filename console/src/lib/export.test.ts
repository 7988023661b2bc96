// Exports: the visible columns, quoted, and nothing that a spreadsheet would run.
import { expect, test } from 'vitest';
import { summary } from '../testing/agents';
import { columnsOf } from './agent-columns';
import { csv, json } from './export';

const agents = [summary({ name: '=cmd()', host: 'a "b", c', labels: { env: 'prod', team: 'x' } })];

test('cells are quoted and formulas are made plain', () => {
  expect(csv(agents, columnsOf(['name', 'host', 'labels']))).toBe('name,host,labels\r\n\'=cmd(),"a ""b"", c","env=prod, team=x"\r\n');
});

test('JSON has the columns by name', () => {
  expect(JSON.parse(json(agents, columnsOf(['labels', 'state'])))).toEqual([{ state: 'connected', labels: { env: 'prod', team: 'x' } }]);
});
