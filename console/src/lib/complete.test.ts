// Completion: keys at the beginning of a term, values after an operator, odd values in quotes.
import { expect, test } from 'vitest';
import { detail, summary } from '../testing/agents';
import { knownFrom, suggest } from './complete';

const attributes = [{ key: 'zone', type: 'string', value: 'eu 1' }, { key: 'pid', type: 'int', value: '7' }];
const known = knownFrom([summary({ labels: { env: 'prod' } }), summary({ labels: { env: 'staging' } })], [detail({ description: { identifying: attributes, non_identifying: [] } })]);
const texts = (text: string): string[] => suggest(known, text).map((one) => one.text);

test('keys are offered where a term begins, those that begin like it first', () => {
  expect(texts('e')[0]).toBe('env=');
  expect(texts('env=prod, host.n')).toEqual(['env=prod, host.name=']);
  expect(texts('!en')).toContain('!env');
});

test('values are offered after an operator, in quotes where they need them', () => {
  expect(texts('env=')).toEqual(['env=prod', 'env=staging']);
  expect(texts('a=b,env!=s')).toEqual(['a=b,env!=staging']);
  expect(texts('zone=')).toEqual(['zone="eu 1"']);
  expect(texts('env in (prod, ')).toEqual(['env in (prod, prod', 'env in (prod, staging']);
  expect(texts('pid=')).toEqual([]);
});

test('keys that no agent was looked at for are offered when the server knows them, unusual ones after the usual', () => {
  const told = knownFrom([], [], ['cloud.region', 'host.name', 'rack']);
  expect(suggest(told, '').map((one) => one.shown)).toEqual(['host.name', 'cloud.region', 'rack']);
  expect(suggest(told, 'reg').map((one) => one.text)).toEqual(['cloud.region=']);
});

test('nothing is offered for what is finished or cannot be read', () => {
  expect(texts('env=prod')).toEqual([]);
  expect(texts('env in (prod')).toEqual([]);
  expect(texts('a b c')).toEqual([]);
});
