// The pure parts that make words, addresses and commands: times, numbers, sentences, queries, quoting, capabilities.
import { describe, expect, test } from 'vitest';
import { detail, HOSTILE, NOW, summary } from '../testing/agents';
import type { AgentSummary } from './api';
import { apiQuery, isSelectorOnly, listCommand, nextSort, pageHref, readQuery, withFilter } from './agent-query';
import { abilities, isCollectorExtension } from './capabilities';
import { KeyReader } from './keys';
import { hostHref, parentOf, routeOf } from './router.svelte';
import { agentSentence, configSentence, fleetSentence, listSentence } from './sentence';
import { shellQuote } from './shell';
import { guides, placeOf } from './snippets';
import { CONFIG_STATES, configWord, healthWord, markOf } from './states';
import { marked, number, oneLine, visible } from './text';
import { absolute, ago } from './time';

const counts = (connected: number, silent: number, disconnected: number, unhealthy = 0) => ({
  connected, silent, disconnected, unhealthy, total: connected + silent + disconnected,
});

test('ages are told in one unit, absolute times with their zone', () => {
  const at = (ms: number): string | null => ago(new Date(NOW - ms).toISOString(), NOW);
  expect([0, 4_000, 61_000, 7_200_000, 47 * 3_600_000, 49 * 3_600_000].map(at)).toEqual(['now', '4 s ago', '1 min ago', '2 h ago', '47 h ago', '2 d ago']);
  expect(ago('nonsense', NOW)).toBeNull();
  expect(absolute('2026-11-30T03:15:01.123Z', true)).toContain(':01.123 UTC');
  expect(absolute('2026-11-30T03:15:01.123Z')).toMatch(/^2026-\d\d-\d\d \d\d:\d\d:01 UTC([+-]\d\d:\d\d)?$/);
});

test('the sentence counts in words and never folds health into connection', () => {
  expect(fleetSentence(counts(2, 1, 0))).toBe('3 agents: 2 connected, 1 silent.');
  expect(fleetSentence(counts(1, 0, 0, 1))).toBe('1 agent: 1 connected. 1 unhealthy.');
  expect(fleetSentence(counts(0, 0, 0))).toBe('No agent has connected yet.');
  expect(listSentence(readQuery('?state=silent'), 1, counts(411, 1, 0))).toBe('1 of 412 agents matches.');
  expect(listSentence(readQuery('?state=silent'), null, counts(2, 1, 0))).toBe('3 agents: 2 connected, 1 silent.');
});

test('the sentence about configurations begins with what is as it should be', () => {
  const none = { in_sync: 0, offered: 0, applying: 0, failed: 0, drifted: 0, not_configurable: 2, unmanaged: 5 };
  expect(configSentence(none)).toBe('No agent is given a configuration by this server.');
  expect(configSentence({ ...none, in_sync: 4 })).toBe('All 4 agents that have a configuration from here run it.');
  expect(configSentence({ ...none, in_sync: 1 })).toBe('The one agent that has a configuration from here runs it.');
  expect(configSentence({ ...none, in_sync: 2, failed: 1, drifted: 3 })).toBe('2 of 6 agents that have a configuration from here run it; 1 failed, 3 drifted.');
});

test("an agent's sentence says state, health and age apart", () => {
  expect(agentSentence(detail(), NOW)).toBe('Connected (on this connection for 1 h); it is healthy, last heard from 4 s ago.');
  expect(agentSentence(detail({ state: 'disconnected', healthy: false }), NOW)).toBe('Disconnected; it was last unhealthy, last heard from 4 s ago.');
  expect(agentSentence(detail({ healthy: null, last_seen: null, connected_since: null }), NOW)).toBe('Connected; it reports no health.');
  const standing = { ...detail().config!, config: 'web', revision: 3 };
  expect(agentSentence(detail({ config: { ...standing, state: 'failed' } }), NOW)).toMatch(/4 s ago\. It could not apply web revision 3\.$/);
  expect(agentSentence(detail({ config: { ...standing, state: 'drifted' }, drift: [{ path: 'a', offered: '1', effective: '2' }] }), NOW)).toMatch(/ It runs otherwise than web revision 3 says, in 1 place\.$/);
});

test('s38 unseen characters are written out and text is kept to one line', () => {
  expect(visible('a\u202eb\u0000c')).toBe('a\\u202eb\\u0000c');
  expect(oneLine(' a\n b ')).toBe('a b');
  expect(oneLine('x'.repeat(300))).toHaveLength(200);
  expect(number(1234567)).toBe('1\u202f234\u202f567');
});

describe('queries', () => {
  test('the address carries filter, sort and place, and comes back the same', () => {
    const query = { ...readQuery(''), q: 'a b', selector: 'host.name in (x,y)', state: 'silent', health: 'unhealthy', config_state: 'not configurable', config: 'web', columns: ['name', 'labels'], replaced: true, sort: '-last_seen', cursor: 'c+/=', page: 3 };
    expect(readQuery(pageHref(query).slice('/agents'.length))).toEqual(query);
    expect(pageHref(readQuery(''))).toBe('/agents');
    expect(apiQuery(withFilter(query, { q: '' }))).not.toContain('cursor');
  });

  test('nonsense in the address is harmless', () => {
    expect(readQuery('?page=-1&replaced=maybe&sort=&columns=x,,name,name')).toMatchObject({ page: 1, replaced: false, sort: 'name', columns: ['name'] });
    expect([isSelectorOnly(readQuery('?selector=a')), isSelectorOnly(readQuery('?selector=a&q=b'))]).toEqual([true, false]);
  });

  test('a column is sorted, then reversed', () => {
    expect([nextSort('name', 'host'), nextSort('host', 'host'), nextSort('-host', 'host')]).toEqual(['host', '-host', 'host']);
  });

  test('the command of a list quotes whatever a shell would act on', () => {
    expect(listCommand(readQuery("?selector=a%3D'%24(rm)'&state=silent"))).toBe(`muster agents list --selector 'a='\\''$(rm)'\\''' --state silent`);
    expect(shellQuote('--help me')).toBe(`'--help me'`);
    expect(listCommand(readQuery('?sort=-last_seen&q=-v'))).toBe(`muster agents list --query='-v' --sort='-last_seen'`);
    expect(shellQuote('-x')).toBe(`'-x'`);
    expect(shellQuote('service.name=otelcol')).toBe('service.name=otelcol');
  });
});

test('addresses lead to pages', () => {
  expect(['/', '/agents', '/agents/', '/agents/a%2Fb', '/connect', '/agents/a/b', '/agents/%E0%A4%A', '/x'].map(routeOf)).toEqual([
    { page: 'overview' }, { page: 'agents' }, { page: 'agents' }, { page: 'agent', uid: 'a/b' }, { page: 'connect' }, { page: 'missing' }, { page: 'missing' }, { page: 'missing' },
  ]);
});

test('addresses of configurations and assignments lead to their pages, and Esc one level up', () => {
  expect(['/configs', '/configs/web', '/configs/web/edit', '/configs/web/revisions/3', '/configs/web/revisions/x', '/assignments/7', '/new-config'].map(routeOf)).toEqual([
    { page: 'configs' }, { page: 'config', name: 'web' }, { page: 'edit', name: 'web' }, { page: 'revision', name: 'web', number: 3 }, { page: 'missing' },
    { page: 'assignment', id: '7' }, { page: 'new-config' },
  ]);
  expect(['/agents/a', '/configs/web', '/configs/web/edit', '/configs/web/revisions/3', '/agents'].map((path) => parentOf(routeOf(path)))).toEqual(['/agents', '/configs', null, '/configs/web', null]);
});

test('addresses of hosts and of what runs on them lead to their pages, and Esc one level up', () => {
  expect(['/hosts', '/hosts/one', '/hosts/add', '/hosts/a/b', '/services', '/services/shop/web', '/services/shop', '/services/shop/web/x', '/deployments/7', '/logs'].map(routeOf)).toEqual([
    { page: 'hosts' }, { page: 'host', host: 'one' }, { page: 'add-host' }, { page: 'missing' }, { page: 'services' }, { page: 'service', project: 'shop', service: 'web' },
    { page: 'missing' }, { page: 'missing' }, { page: 'deployment', id: '7' }, { page: 'logs' },
  ]);
  expect(['/hosts/one', '/services/shop/web', '/hosts/add'].map((path) => parentOf(routeOf(path)))).toEqual(['/hosts', '/services', null]);
  expect([hostHref({ id: 'hst_1', name: 'one' }), hostHref({ id: 'hst_1', name: 'add' })]).toEqual(['/hosts/one', '/hosts/hst_1']);
});

test('states keep their words, and each has a shape of its own', () => {
  const marks = ['connected', 'silent', 'disconnected', 'pending approval'].map((word) => markOf('agent', word));
  expect(marks.map((mark) => mark.word)).toEqual(['connected', 'silent', 'disconnected', 'pending approval']);
  expect(new Set(marks.map((mark) => mark.shape)).size).toBe(4);
  expect(markOf('agent', 'molten').word).toBe('molten');
  expect([true, false, null].map(healthWord)).toEqual(['healthy', 'unhealthy', 'unknown']);
  const silentServer = { config: undefined } as unknown as Partial<AgentSummary>;
  expect(configWord(summary({ ...silentServer, capabilities: [] }))).toBe('not configurable');
  expect(configWord(summary({ config: { ...summary().config, state: 'drifted' } }))).toBe('drifted');
  for (const kind of ['config', 'assignment', 'host', 'replica'] as const) expect(markOf(kind, 'made up').tone).toBe('idle');
  expect(CONFIG_STATES.toSorted()).toEqual(['applying', 'drifted', 'failed', 'in sync', 'not configurable', 'offered', 'unmanaged']);
});

describe('capabilities', () => {
  test('what is missing says why, whichever way its maker spells OpAMP', () => {
    const all = abilities(summary({ capabilities: ['ReportsStatus', 'AcceptsOpAmpConnectionSettings'] }));
    expect(all.find((one) => one.name === 'AcceptsOpAMPConnectionSettings')).toMatchObject({ has: true, whyNot: null });
    expect(all.filter((one) => !one.has).every((one) => one.whyNot !== null && one.whyNot !== '')).toBe(true);
    expect(all).toHaveLength(16);
  });

  test("the Collector's extension is told from an agent that could be configured", () => {
    const files = [{ name: '', content_type: 'text/yaml', body: 'extensions:\n  opamp:\n    server: {}\n', redacted: false, encoding: 'utf8' as const }];
    const extension = detail({ name: 'x', capabilities: ['ReportsStatus', 'ReportsEffectiveConfig'], effective_config: { files, hash: null } });
    expect(isCollectorExtension(extension)).toBe(true);
    expect(isCollectorExtension({ ...extension, capabilities: ['AcceptsRemoteConfig'] })).toBe(false);
    expect(abilities(extension).find((one) => one.name === 'AcceptsRemoteConfig')?.whyNot).toContain('Run it under the supervisor');
  });
});

describe('keys', () => {
  const press = (key: string, over = {}) => ({ key, modified: false, typing: false, at: 0, ...over });

  test('sequences and single keys', () => {
    const reader = new KeyReader();
    expect(['/', '?', 'g', 'a', 'a', 'Escape'].map((key) => reader.read(press(key)))).toEqual(['search', 'help', null, '/agents', null, 'escape']);
  });

  test('letters in a field stay letters, modified keys are left to the browser, a slow sequence is forgotten', () => {
    const reader = new KeyReader();
    expect(reader.read(press('/', { typing: true }))).toBeNull();
    expect(reader.read(press('Escape', { typing: true }))).toBe('escape');
    expect(reader.read(press('/', { modified: true }))).toBeNull();
    reader.read(press('g'));
    expect(reader.read(press('a', { at: 5001 }))).toBeNull();
  });
});

test('what to run names this server and never a token', () => {
  const place = placeOf(null, { hostname: 'm.example', protocol: 'https:' });
  expect(place.endpoint).toBe('wss://m.example:4320/v1/opamp');
  const files = (endpoint: string, ownAuthority: boolean) => guides({ endpoint, ownAuthority }).flatMap((guide) => guide.steps.map((step) => step.text)).join('\n');
  const texts = guides(place).flatMap((guide) => guide.steps.map((step) => step.text));
  expect(texts.join('\n')).toContain('endpoint: wss://m.example:4320/v1/opamp');
  expect(texts.join('\n')).toContain('https://m.example:4320/v1/opamp');
  expect(files('wss://m:4320/v1/opamp', true)).toContain('ca_file');
  expect(files('wss://m:4320/v1/opamp', false)).not.toMatch(/ca_file|insecure/);
  expect(files('ws://m:4320/v1/opamp', false)).toContain('insecure: true');
});

test('s38 a hostile name is only text in a sentence', () => {
  expect(oneLine(HOSTILE)).toBe(`'><img src=x onerror="alert(1)">\\u202egnp`);
});

test('what was looked for is told apart from the text around it', () => {
  expect([marked('a b a', 'a'), marked('abc', ''), marked('abc', 'x')]).toEqual([['', 'a', ' b ', 'a', ''], ['abc'], ['abc']]);
});
