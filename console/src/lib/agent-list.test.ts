// The list's rows: updated in place, new agents only announced, left and forgotten ones told apart, late answers dropped.
import { expect, test } from 'vitest';
import { AgentList } from './agent-list.svelte';
import { readQuery } from './agent-query';
import { ApiError, type AgentPage, type AgentSummary, type Api } from './api';
import { detail, summary } from '../testing/agents';

const page = (...items: AgentSummary[]): AgentPage => ({ items, next_cursor: null, total: items.length });
const a = (uid: string, over: Partial<AgentSummary> = {}): AgentSummary => summary({ instance_uid: uid, name: uid, ...over });

function listOver(pages: AgentPage[], agent: Api['agent'] = async () => Promise.reject(new ApiError(404, 'not found', ''))) {
  let turn = 0;
  const list = new AgentList({ agents: async () => pages[Math.min(turn++, pages.length - 1)]!, agent } as unknown as Api);
  return list;
}

test('a refresh updates rows in place and announces new agents instead of pushing them in', async () => {
  const list = listOver([page(a('m'), a('n')), page(a('b'), a('n'), a('m', { state: 'silent' }))]);
  await list.load(readQuery(''));
  await list.refresh();
  expect(list.rows.map((row) => [row.agent.instance_uid, row.agent.state])).toEqual([['m', 'silent'], ['n', 'connected']]);
  expect(list.fresh).toBe(1);
  expect(list.total).toBe(3);
});

test('a row that left the list is asked for by itself; one that is gone is marked', async () => {
  const agent = async (uid: string) => {
    if (uid === 'gone') throw new ApiError(404, 'not found', '');
    return detail({ instance_uid: uid, state: 'disconnected' });
  };
  const list = listOver([page(a('gone'), a('left')), page()], agent);
  await list.load(readQuery('?state=connected'));
  await list.refresh();
  expect(list.rows.map((row) => [row.agent.instance_uid, row.agent.state, row.forgotten])).toEqual([
    ['gone', 'connected', true],
    ['left', 'disconnected', false],
  ]);
});

test('an empty list fills by itself', async () => {
  const list = listOver([page(), page(a('first'))]);
  await list.load(readQuery(''));
  await list.refresh();
  expect(list.rows).toHaveLength(1);
  expect(list.fresh).toBe(0);
});

test('a slow answer to an older question is dropped', async () => {
  const answers: ((page: AgentPage) => void)[] = [];
  const list = new AgentList({ agents: () => new Promise<AgentPage>((done) => answers.push(done)) } as unknown as Api);
  const first = list.load(readQuery('?q=a'));
  const second = list.load(readQuery('?q=ab'));
  answers[1]!(page(a('ab')));
  await second;
  answers[0]!(page(a('a')));
  await first;
  expect(list.rows.map((row) => row.agent.name)).toEqual(['ab']);
});

test('a complaint is cleared by the next good answer', async () => {
  let bad = false;
  const list = new AgentList({
    agents: async () => (bad ? Promise.reject(new ApiError(400, 'bad selector', 'column 1', 'selector')) : page(a('m'))),
  } as unknown as Api);
  await list.load(readQuery(''));
  bad = true;
  await list.load(readQuery('?selector=('));
  expect(list.error?.field).toBe('selector');
  expect(list.rows).toHaveLength(0);
  expect(list.counted).toBe(false);
  bad = false;
  await list.load(readQuery(''));
  expect(list.error).toBeNull();
  expect(list.rows).toHaveLength(1);
});

test('a question that cannot be read leaves no rows of an older one; a server that is away does', async () => {
  const errors = [null, new ApiError(0, 'the server does not answer', ''), new ApiError(400, 'bad selector', 'column 3: expected a value', 'selector')];
  const list = new AgentList({ agents: async () => {
    const error = errors.shift();
    if (error) throw error;
    return page(a('m'));
  } } as unknown as Api);
  await list.load(readQuery(''));
  await list.load(readQuery('?state=silent'));
  expect(list.rows).toHaveLength(1);
  await list.load(readQuery('?selector=a+%3D%3D%3D%3D'));
  expect([list.rows.length, list.total, list.error?.field]).toEqual([0, 0, 'selector']);
});
