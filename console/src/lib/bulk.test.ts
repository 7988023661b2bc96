// Bulk actions: who is meant, and labels by the server's rules.
import { expect, test, vi } from 'vitest';
import { summary } from '../testing/agents';
import { readQuery } from './agent-query';
import { api } from './api';
import { labelCommand, labelAgents, readLabels, selectorOf } from './bulk';

test('a list that only a selector filters is meant by it; other filters are resolved to agents', async () => {
  const write = vi.spyOn(api, 'write').mockResolvedValue({ value: { matched: 2, changed: 2 }, etag: null, status: 200 });
  const agents = vi.spyOn(api, 'agents').mockImplementation(async (query) => ({ items: [summary({ instance_uid: query.includes('cursor') ? 'b' : 'a' })], next_cursor: query.includes('cursor') ? null : 'c', total: 2 }));
  const by = (search: string) => ({ kind: 'all' as const, query: readQuery(search), total: 2 });
  expect(selectorOf(by('?selector=env%3Dprod'))).toBe('env=prod');
  expect(selectorOf({ kind: 'some', uids: ['a'] })).toBeNull();
  await labelAgents(by('?selector=env%3Dprod'), { a: '1' }, []);
  expect(write).toHaveBeenLastCalledWith('POST', '/labels', { selector: 'env=prod', set: { a: '1' }, remove: [] });
  await labelAgents(by('?state=silent'), {}, ['a']);
  expect(write).toHaveBeenLastCalledWith('POST', '/labels', { agents: ['a', 'b'], set: {}, remove: ['a'] });
  expect(agents).toHaveBeenCalledTimes(2);
  vi.restoreAllMocks();
});

test('labels are read from lines, and faults are named', () => {
  expect(readLabels(' env = prod \n\nteam/x=a=b')).toEqual({ labels: { env: 'prod', 'team/x': 'a=b' }, fault: null });
  expect([readLabels('nothing').fault, readLabels('bad key=x').fault, readLabels(`a=${'x'.repeat(64)}`).fault].every((fault) => fault !== null)).toBe(true);
});

test('the command names what is set and what goes', () => {
  expect(labelCommand('u', { env: 'lab', rack: '7' }, { env: 'prod', rack: '7', zone: 'a b' })).toBe("muster agents label u env=prod 'zone=a b'");
  expect(labelCommand('u', { env: 'lab' }, {})).toBe('muster agents label u env-');
  expect(labelCommand('u', { env: 'lab' }, { env: 'lab' })).toBeNull();
});
