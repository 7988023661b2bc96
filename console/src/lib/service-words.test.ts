// The sentences about services, deployments and plans.
import { expect, test } from 'vitest';
import { deployment, release, replica, service } from '../testing/services';
import { awayWords, between, deploymentSentence, deployWords, fullReplicaName, replicaName, scaleWords, servicesSentence, stateWords, stepWords, tookWords, toReleaseWords } from './service-words';
import type { Plan, PlannedService } from './services';

test('how many services are as they should, and which are not, the worst first', () => {
  const good = service({ name: 'db' });
  expect(servicesSentence([])).toBe('There is no service yet.');
  expect(servicesSentence([good])).toBe('The only service runs as it should.');
  expect(servicesSentence([good, service({ state: 'stopped', wanted: 0 })])).toBe('All 2 services run as they should.');
  expect(servicesSentence([good, service({ state: 'updating' })])).toBe('1 of 2 services runs as it should; shop/web is being updated.');
  const many = [good, service({ name: 'a', state: 'updating' }), service({ name: 'b', state: 'degraded' }), service({ name: 'c', state: 'failed' })];
  expect(servicesSentence(many)).toBe('1 of 4 services runs as it should; shop/c does not work, shop/b is degraded, and 1 more does not.');
});

test('what is known only as it was last is told apart', () => {
  expect(awayWords([service()])).toBe('');
  expect(awayWords([service({ replicas: [replica(), replica({ id: 'rep_2', host: 'edge-7', host_online: false })] })])).toBe('edge-7 is not connected: 1 replica there is shown as it was last.');
});

test('each state of a service in words', () => {
  expect(stateWords(service({ wanted: 3, ready: 2, state: 'degraded' }))).toBe('is degraded, 2 of 3 replicas ready');
  expect(stateWords(service({ wanted: 3, ready: 0, state: 'failed' }))).toBe('does not work: none of 3 replicas is ready');
});

test('replicas on hosts that are away strand their service, which nobody calls well', () => {
  const stranded = service({ state: 'stranded', ready: 0, replicas: [replica({ state: 'stranded', host_online: false })] });
  expect(stateWords(stranded)).toBe('is stranded: its hosts are offline');
  expect(stateWords({ ...stranded, waits_for: 'host edge-7 is offline' })).toBe('is stranded: host edge-7 is offline');
  expect(servicesSentence([service({ name: 'db' }), stranded])).toBe('1 of 2 services runs as it should; shop/web is stranded.');
});

test('a replica has one name, inside its service and elsewhere', () => {
  expect([replicaName(replica()), fullReplicaName(replica())]).toEqual(['web-1', 'shop/web-1']);
});

test('how long a deployment took, and the way to a release', () => {
  expect(tookWords(deployment())).toBeNull();
  expect(tookWords(deployment({ finished_at: '2026-11-30T03:01:20.000Z' }))).toBe('1 min');
  expect([toReleaseWords(2, 4), toReleaseWords(5, 4), toReleaseWords(1, null)]).toEqual(['Roll back to release 2', 'Go to release 5', 'Roll back to release 1']);
});

test('a deployment and what it does to a service', () => {
  expect(deploymentSentence(deployment())).toBe('Deployment 7 of shop is running: 0 of 1 service done.');
  expect(deploymentSentence(deployment({ state: 'rolled back' }))).toContain('failed and was rolled back');
  const [one] = deployment().services;
  expect([one!, { ...one!, from: null }, { ...one!, to: null }].map(stepWords)).toEqual(['release 2 → 3', 'release 3', 'release 2 → removed']);
});

test('the button of a plan says its reach', () => {
  const one = (change: PlannedService['change'], hosts: string[]): PlannedService => ({ name: change, change, changes: [], replicas_before: 1, replicas_after: 1, update: '', hosts });
  const plan = (...services: PlannedService[]): Plan => ({ project: 'shop', services, warnings: [], refusals: [], text: [] });
  expect(deployWords(plan(one('new', ['a', 'b']), one('changed', ['b']), one('unchanged', ['c'])))).toBe('Deploy 2 services to 2 hosts');
  expect(deployWords(plan(one('new', ['a']), one('removed', [])))).toBe('Deploy 1 service to 1 host, remove 1');
  expect(deployWords(plan(one('removed', []), one('removed', [])))).toBe('Remove 2 services');
});

test('scaling says what starts and stops; the way back says what lies between', () => {
  expect(scaleWords(service(), 3)).toBe('shop/web goes from 1 to 3 replicas: 2 replicas are started. The others stay as they are.');
  expect(scaleWords(service({ wanted: 2 }), 1)).toBe('shop/web goes from 2 to 1 replica: 1 replica is stopped and removed. The others stay as they are.');
  expect(between([4, 3, 2, 1].map((number) => release(number)), 4, 2).map((one) => one.number)).toEqual([4, 3]);
});
