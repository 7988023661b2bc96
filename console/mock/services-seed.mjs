// What runs in the mock at first: a shop of three services, one of which misses a replica, a meter on a host that is away.
import { replicaOf } from './services.mjs';

const ago = (minutes) => new Date(Date.now() - minutes * 60_000).toISOString();
const release = (number, image, minutes, author, message, changes = [], wanted = 1) => ({ number, image, wanted, author, message, created_at: ago(minutes), changes });

function service(project, name, image, { wanted = 1, ports = [], environment = '{}', releases, over = [] }) {
  const one = { id: `svc_${project}_${name}`, name, image, release: releases.at(-1).number, wanted, ports, environment, replicas: [], releases };
  one.replicas = Array.from({ length: wanted }, (_, at) => replicaOf(project, one, at + 1, { started_at: ago(60 * 26 + at), ...over[at] }));
  return one;
}

const FAILED = {
  host: 'eu-2', state: 'failed', restarts: 6, started_at: ago(2), exit_code: 1, reason: 'port 8080/tcp is taken there by nginx (pid 811)',
  last_lines: ['nginx: [emerg] bind() to 0.0.0.0:8080 failed (98: Address already in use)', 'nginx: [emerg] still could not bind()'],
};

function shop() {
  const web = service('shop', 'web', 'nginx:1.29', {
    wanted: 3, ports: ['8080/tcp → 80'], over: [{}, {}, FAILED],
    releases: [
      release(1, 'nginx:1.27', 60 * 24 * 12, 'admin', 'First version', [], 2), release(2, 'nginx:1.28', 60 * 24 * 5, 'operator', 'New minor version', ['image nginx:1.27 → nginx:1.28'], 2),
      release(3, 'nginx:1.29', 60 * 26, 'operator', 'Faster TLS', ['image nginx:1.28 → nginx:1.29', 'environment: + LOG_LEVEL'], 2), { ...release(4, 'nginx:1.30-beta', 60 * 3, 'operator', 'Try 1.30', ['image nginx:1.29 → nginx:1.30-beta'], 2), served: false }, release(5, 'nginx:1.29', 12, 'operator', 'scale web to 3', ['replicas 2 → 3'], 3),
    ],
  });
  const db = service('shop', 'db', 'postgres:18', { releases: [release(1, 'postgres:18', 60 * 24 * 12, 'admin', 'First version')] });
  const worker = service('shop', 'worker', 'registry.example:5000/shop/worker:41', {
    wanted: 2, over: [{ host: 'eu-1', state: 'running' }, { host: 'eu-1', state: 'running' }], releases: [release(1, 'registry.example:5000/shop/worker:40', 60 * 24 * 12, 'admin', 'First version'), release(2, 'registry.example:5000/shop/worker:41', 60 * 26, 'operator', 'Faster TLS', ['image registry.example:5000/shop/worker:40 → registry.example:5000/shop/worker:41'])],
  });
  return {
    name: 'shop', services: [db, web, worker], volumes: [{ name: 'data', host: 'eu-1', used: true }, { name: 'old-data', host: 'eu-2', used: false }], created_at: ago(60 * 24 * 12),
    secrets: [{ name: 'db', version: 2, size_bytes: 24, used_by: ['db', 'worker'], created_by: 'admin', created_at: ago(60 * 24 * 5) }],
  };
}

/** A deployment that is over. */
function past(all, project, minutes, user, message, steps, over = {}) {
  all.begin(project, steps.map(([name, from, to]) => ({ name, from, to, target: { wanted: 1 } })), user, message, ago(minutes));
  Object.assign(all.deployments[0], { state: 'done', finished_at: ago(minutes - 1), ...over });
  for (const one of all.deployments[0].services) Object.assign(one, { state: 'done', ready: 1 });
}

export function projects(all) {
  const reader = service('meter', 'reader', 'registry.example:5000/meter/reader:7', { over: [{ host: 'edge-7', host_online: false }], releases: [release(1, 'registry.example:5000/meter/reader:6', 60 * 24 * 8, 'admin', ''), release(2, 'registry.example:5000/meter/reader:7', 60 * 24 * 3, 'operator', 'Reads twice an hour', ['environment: INTERVAL'])] });
  all.projects.set('meter', { name: 'meter', services: [reader], volumes: [], secrets: [], created_at: ago(60 * 24 * 8) });
  all.projects.set('shop', shop());
  past(all, 'shop', 60 * 24 * 12, 'admin', 'First version', [['db', null, 1], ['web', null, 1], ['worker', null, 1]]);
  past(all, 'meter', 60 * 24 * 3, 'operator', 'Reads twice an hour', [['reader', 1, 2]]);
  past(all, 'shop', 60 * 26, 'operator', 'Faster TLS', [['web', 2, 3], ['worker', 1, 2]]);
  past(all, 'shop', 60 * 3, 'operator', 'Try 1.30', [['web', 3, 4]], { state: 'rolled back', reason: 'web: replica 1 on eu-1: manifest for nginx:1.30-beta not found: manifest unknown' });
  const failed = all.deployments[0].services[0];
  Object.assign(failed, { state: 'failed', reason: 'replica 1 on eu-1: manifest for nginx:1.30-beta not found: manifest unknown', ready: 0 });
  past(all, 'shop', 12, 'operator', 'scale web to 3', [['web', 3, 5]]);
}
