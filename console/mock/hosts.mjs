// The mock's hosts: three machines, as varied as real ones, their join tokens and log lines; a machine joins
// when the remote control says so. Used by server.mjs and routes.mjs only; nothing here reaches the product.
import { randomUUID } from 'node:crypto';
import { now, Problem } from './problem.mjs';

const GIB = 2 ** 30;
const ago = (minutes) => new Date(Date.now() - minutes * 60_000).toISOString();
const hostId = (n) => `hst_01jq2v7m${String(n).padStart(2, '0')}4x8r3k5t9w`;
/** `/etc/machine-id` of a machine; an agent of the fleet lives on the first. */
export const machineId = (n) => `4c1d5ae07b9f4e22a8${String(n).padStart(2, '0')}b36f70d9c115`;
const NAME = /^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$/;

function host(n, name, over = {}) {
  return {
    id: hostId(n), name, state: 'online', since: ago(60 * 30), mode: 'normal', adopting: false, labels: {}, allowed_paths: [], mesh_ip: `10.98.0.${n + 1}`, address: `192.0.2.${n + 6}`,
    agent_version: '0.1.0', os: 'Debian GNU/Linux 13 (trixie)', kernel: '6.12.48+deb13-amd64', arch: 'x86_64', cpus: 4, memory_bytes: 16 * GIB, memory_available_bytes: 9.4 * GIB,
    cpu_used: 0.31, disk_total_bytes: 160 * GIB, disk_free_bytes: 92 * GIB, engine: '29.1.3', replicas: 0, ready: 0, generation: 41, in_sync: true, problems: [],
    machine_id: machineId(n), clock_skew_ms: 12, joined_at: ago(60 * 24 * 19), last_seen: now(), version: 1, ...over,
  };
}

const PAST = [
  host(1, 'eu-1', { labels: { zone: 'a' }, allowed_paths: ['/srv/data'], replicas: 4, ready: 4 }),
  host(2, 'eu-2', {
    labels: { zone: 'b' }, mode: 'cordoned', since: ago(35), memory_available_bytes: 1.1 * GIB, cpu_used: 0.87, disk_free_bytes: 3.9 * GIB, replicas: 2, ready: 1, generation: 40, in_sync: false,
    problems: ['shop/web-3: port 8080/tcp is taken there by nginx (pid 811)', 'only 3.9 GiB of /var/lib/docker are free', 'one of its replicas does not work'], clock_skew_ms: -410,
  }),
  host(3, 'edge-7', {
    state: 'offline', since: ago(190), last_seen: ago(190), address: null, os: 'Ubuntu 24.04.3 LTS', kernel: '6.8.0-87-generic', arch: 'aarch64', cpus: 2, memory_bytes: 3.8 * GIB, memory_available_bytes: 2.2 * GIB,
    cpu_used: 0.05, disk_total_bytes: 29 * GIB, disk_free_bytes: 17 * GIB, engine: '28.5.2', replicas: 1, generation: 12, in_sync: false,
    problems: ['it is not connected: its containers run on as they were'],
  }),
];

const line = (minutes, level, source, text) => ({ at: ago(minutes), level, source, text });
const LINES = {
  'eu-1': [line(1560, 'deploy', 'replica', 'shop/web-1: created from nginx:1.29'), line(1559, 'deploy', 'replica', 'shop/web-1: is healthy')],
  'eu-2': [
    line(1560, 'deploy', 'replica', 'shop/web-2: is healthy'), line(34, 'warn', 'agent', 'the connection was lost after 11 h: read tcp: connection reset by peer'), line(4, 'deploy', 'replica', 'shop/web-3: created from nginx:1.29'),
    line(3, 'error', 'docker', 'shop/web-3: driver failed programming external connectivity: Bind for 0.0.0.0:8080 failed: port is already allocated'), line(2, 'error', 'replica', 'shop/web-3: ended with exit code 1, the 6th time'),
  ],
  'edge-7': [line(191, 'warn', 'agent', 'no answer from the control plane for 45 s')],
};

export class Hosts {
  constructor(mock) {
    this.mock = mock;
    const [, , onFirst] = [...mock.agents.values()];
    onFirst?.description.non_identifying.push({ key: 'host.id', type: 'string', value: machineId(1) });
    this.all = new Map(PAST.map((one) => [one.id, structuredClone(one)]));
    this.tokens = [{ id: '1', state: 'used', host_name: 'eu-1', for_host: null, created_by: 'admin', created_at: ago(60 * 24 * 19 + 4), expires_at: ago(60 * 24 * 19 - 56), used_at: ago(60 * 24 * 19), used_by: 'eu-1' }];
  }

  find(name) {
    const found = this.all.get(name) ?? [...this.all.values()].find((one) => one.name === name);
    if (!found) throw new Problem(404, 'not found', `there is no host ${name}`);
    return found;
  }

  list() {
    return [...this.all.values()].sort((a, b) => a.name.localeCompare(b.name)).map(view);
  }

  change(name, change) {
    const one = this.find(name);
    if (change.name !== undefined && !NAME.test(change.name)) throw new Problem(422, 'unprocessable', "a host's name has small letters, digits, - and . inside, and at most 63 characters", 'name');
    Object.assign(one, change, { version: one.version + 1 });
    this.tell(one);
    return one;
  }

  remove(name) {
    const one = this.find(name);
    if (one.replicas > 0) throw new Problem(409, 'conflict', `${one.name} still has ${one.replicas} replicas: remove or move these first`);
    this.all.delete(one.id);
    this.tell(one);
    return one;
  }

  addToken({ host_name: name = '', expires_in_seconds: seconds = 3600, for_host: inPlaceOf = null }, user) {
    if (name && !NAME.test(name)) throw new Problem(422, 'unprocessable', "a host's name has small letters, digits, - and . inside, and at most 63 characters", 'host_name');
    if ([...this.all.values()].some((one) => one.name === name)) throw new Problem(409, 'conflict', `there is a host ${name} already: choose another name, or replace that host`);
    const at = Date.now();
    const made = { id: String(this.tokens.length + 1), state: 'waiting', host_name: name, for_host: inPlaceOf, created_by: user.name, created_at: new Date(at).toISOString(), expires_at: new Date(at + seconds * 1000).toISOString(), used_at: null, used_by: null };
    this.tokens.unshift(made);
    const token = `mst_join_${randomUUID().replaceAll('-', '')}`;
    const command = `curl -fsSk https://muster.example.net:5050/api/agent/v1/install.sh -o muster-join.sh && echo '9c1185a5c5e9fc54612808977ee8f548b2258d31c0f8a1a2f7b1e0f6d83b5c77  muster-join.sh' | sha256sum -c --quiet && sh muster-join.sh '${token}'`;
    return { ...made, token, command };
  }

  revokeToken(id) {
    const found = this.tokens.find((one) => one.id === id);
    if (!found) throw new Problem(404, 'not found', `there is no join token ${id}`);
    found.state = 'revoked';
  }

  /** A machine joins with the newest token that waits; it is not connected yet. */
  join() {
    const token = this.tokens.find((one) => one.state === 'waiting');
    const n = this.all.size + 1;
    const made = host(n, token.host_name || `machine-${n}`, { state: 'joining', since: null, last_seen: null, address: null, engine: null, generation: 0, in_sync: false, cpu_used: null, memory_available_bytes: null, joined_at: now() });
    this.all.set(made.id, made);
    Object.assign(token, { state: 'used', used_at: now(), used_by: made.name });
    this.tell(made);
  }

  tell(one) {
    this.mock.hint('hosts', { names: [one.id] });
  }
}

/** As the API tells it: how replicas are on a host that is away is not known, so none is ready. */
const view = (one) => (one.state === 'online' ? { ...one, last_seen: now() } : { ...one, ready: 0 });
const reply = (status, value, version) => ({ status, value, etag: version === undefined ? undefined : `"${version}"` });

/** The calls, as routes.mjs has them. */
export const hostCalls = [
  ['GET', '/hosts', 'viewer', ({ mock }) => reply(200, { items: mock.hosts.list() })],
  ['GET', '/hosts/:host', 'viewer', ({ mock, at }) => reply(200, view(mock.hosts.find(at[0])), mock.hosts.find(at[0]).version)],
  ['PATCH', '/hosts/:host', 'operator', ({ mock, user, at, body, match }) => {
    const before = mock.hosts.find(at[0]);
    match(before.version);
    const { name } = before;
    const old = Object.fromEntries(Object.keys(body).map((key) => [key, before[key]]));
    const made = mock.hosts.change(at[0], body);
    mock.access.audit(user.name, 'host.change', `host/${name}`, old, body);
    return reply(200, view(made), made.version);
  }],
  ['DELETE', '/hosts/:host', 'operator', ({ mock, user, at }) => {
    const gone = mock.hosts.remove(at[0]);
    mock.access.audit(user.name, 'host.remove', `host/${gone.name}`, { id: gone.id }, null);
    return reply(204);
  }],
  ['GET', '/hosts/:host/log', 'viewer', ({ mock, at }) => reply(200, { items: LINES[mock.hosts.find(at[0]).name] ?? [] })],
  ['GET', '/join-tokens', 'viewer', ({ mock }) => reply(200, { items: mock.hosts.tokens })],
  ['POST', '/join-tokens', 'operator', ({ mock, user, body }) => {
    const made = mock.hosts.addToken(body, user);
    mock.access.audit(user.name, 'join-token.create', `join-token/${made.id}`, null, { host_name: made.host_name });
    return reply(201, made);
  }],
  ['DELETE', '/join-tokens/:id', 'operator', ({ mock, user, at }) => {
    mock.hosts.revokeToken(at[0]);
    mock.access.audit(user.name, 'join-token.revoke', `join-token/${at[0]}`);
    return reply(204);
  }],
];

/** The remote control of the browser tests. */
export const hostControl = {
  'host-join': (mock) => mock.hosts.join(),
  'host-set': (mock, { host: name, ...fields }) => {
    const one = mock.hosts.find(name);
    Object.assign(one, fields);
    mock.hosts.tell(one);
  },
  'host-clear': (mock) => {
    const all = [...mock.hosts.all.values()];
    mock.hosts.all.clear();
    for (const one of all) mock.hosts.tell(one);
  },
};
