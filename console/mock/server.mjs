// A stand-in for `muster server` to work on the console and to test it: the same API over a made-up fleet, and the
// built console with the product's content security policy. Logins admin, operator and viewer, each with its name as the
// password. Run: node mock/server.mjs [port].
// POST /mock/… is the remote control of the browser tests. It is not the product's server and proves nothing about it.
import { createServer } from 'node:http';
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { extname, join, normalize } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Access } from './access.mjs';
import { Configs } from './configs.mjs';
import { agent, fleet } from './fleet.mjs';
import { hostControl, Hosts } from './hosts.mjs';
import { Logs } from './logs.mjs';
import { Problem } from './problem.mjs';
import { Rollouts } from './rollouts.mjs';
import { route } from './routes.mjs';
import { seed } from './seed.mjs';
import { selector } from './selector.mjs';
import { serviceControl } from './service-routes.mjs';
import { Services } from './services.mjs';

const DIST = fileURLToPath(new URL('../dist', import.meta.url));
const TYPES = { '.html': 'text/html; charset=utf-8', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml' };
/** Word for word the policy of the product. */
export const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";
/** The parts of a detail that the list leaves out. */
const DETAIL_ONLY = [
  'description', 'capability_bits', 'unknown_capability_bits', 'health', 'effective_config', 'components', 'package_statuses', 'connection_settings_status',
  'custom_capabilities', 'remote_config_status', 'sequence_num', 'enrolled_at', 'credential', 'first_seen', 'drift', 'stuck',
];

const CONFIG_STATES = ['in sync', 'offered', 'applying', 'failed', 'drifted', 'not configurable', 'unmanaged'];

class Mock {
  constructor(extra, pace) {
    this.agents = new Map(fleet(extra).map((one) => [one.instance_uid, one]));
    this.sessions = new Map();
    this.streams = new Set();
    this.refuseStreams = false;
    this.sequence = 0;
    this.started = Date.now();
    this.answers = new Map();
    this.watched = new Set();
    this.configs = new Configs(this);
    this.rollouts = new Rollouts(this);
    this.access = new Access(this);
    this.hosts = new Hosts(this);
    this.services = new Services(this);
    this.logs = new Logs(this);
    seed(this);
    this.beats = [setInterval(() => this.heartbeat(), 5000), setInterval(() => (this.rollouts.tick(), this.services.tick()), pace)];
    // Only who looks by hand wants lines that nobody asked for.
    if (pace > 1000) this.beats.push(setInterval(() => this.logs.chatter(), 700));
    for (const beat of this.beats) beat.unref();
  }

  agent(uid) {
    const found = this.agents.get(uid);
    if (!found) throw new Problem(404, 'not found', 'there is no such agent');
    return found;
  }

  summary(one) {
    const row = Object.fromEntries(Object.entries(one).filter(([name]) => !DETAIL_ONLY.includes(name)));
    return { ...row, config: this.rollouts.standing(one) };
  }

  detail(one) {
    const { stuck: _, ...rest } = one;
    const config = this.rollouts.standing(one);
    const offered = config.revision === null ? null : this.configs.revision(config.config, config.revision);
    return {
      ...rest, config, drift: config.state === 'drifted' ? one.drift : null,
      offered: offered && { config: offered.config, revision: offered.number, hash: offered.hash, files: offered.files.map(masked) },
    };
  }

  /** As with the product, the first look finds nothing. */
  messages(one) {
    const items = this.watched.has(one.instance_uid) ? exchange(one) : [];
    this.watched.add(one.instance_uid);
    return { kept_until: new Date(Date.now() + 60_000).toISOString(), items };
  }

  /** Connected agents are heard from; as with the product, a heartbeat that changes nothing is no event. */
  heartbeat() {
    for (const one of this.agents.values()) if (one.state === 'connected') one.last_seen = new Date().toISOString();
    for (const stream of this.streams) stream.write(': alive\n\n');
  }

  tell(uids) {
    this.hint('agents', { uids });
  }

  hint(kind, what) {
    this.sequence += 1;
    const event = `id: 1-${this.sequence}\nevent: ${kind}\ndata: ${JSON.stringify(what)}\n\n`;
    for (const stream of this.streams) stream.write(event);
  }

  list(params) {
    const sort = params.get('sort') || 'name';
    const key = sort.replace(/^-/, '');
    if (!['name', 'health', 'state', 'last_seen', 'connected_since'].includes(key)) throw new Problem(400, 'bad query', `cannot sort by "${key}"`, 'sort');
    const found = this.visible(params).sort((a, b) => String(a[key] ?? '').localeCompare(String(b[key] ?? '')) || a.instance_uid.localeCompare(b.instance_uid));
    if (sort.startsWith('-')) found.reverse();
    const limit = Number(params.get('limit') || 100);
    const from = Number(params.get('cursor') || 0);
    const items = found.slice(from, from + limit).map((one) => this.summary(one));
    return { items, next_cursor: from + limit < found.length ? String(from + limit) : null, total: found.length };
  }

  visible(params) {
    const matches = selector(params.get('selector') ?? '');
    const q = (params.get('q') ?? '').toLowerCase();
    const word = { true: 'healthy', false: 'unhealthy', null: 'unknown' };
    return [...this.agents.values()].filter((one) =>
      (params.get('replaced') === 'true' || one.replaced_by === null) &&
      (!params.get('state') || one.state === params.get('state')) &&
      (!params.get('health') || word[one.healthy] === params.get('health')) &&
      (!params.get('config_state') || this.rollouts.standing(one).state === params.get('config_state')) &&
      (!params.get('config') || this.rollouts.standing(one).config === params.get('config')) &&
      (!q || [one.name, one.host, one.instance_uid, one.version].some((value) => String(value ?? '').toLowerCase().includes(q))) &&
      matches(one));
  }

  overview() {
    const shown = this.visible(new URLSearchParams());
    const having = (state) => shown.filter((one) => one.state === state).length;
    const standings = shown.map((one) => this.rollouts.standing(one));
    return {
      config: Object.fromEntries(CONFIG_STATES.map((state) => [state.replaceAll(' ', '_'), standings.filter((one) => one.state === state).length])),
      rollouts: [...this.rollouts.all.values()].filter((one) => ['rolling', 'paused', 'clearing'].includes(one.state)).map((one) => this.rollouts.view(one)),
      versions: grouped(shown, (one) => JSON.stringify([one.name, one.version])).map(([key, ones]) => ({ name: JSON.parse(key)[0], version: JSON.parse(key)[1], agents: ones.length })).slice(0, 20),
      failures: grouped(shown.filter((one, at) => standings[at].state === 'failed'), (one) => this.rollouts.standing(one).reason).map(([error, ones]) => ({ error, agents: ones.length, example: ones[0].instance_uid })).slice(0, 10),
      version: '0.1.0', uptime_seconds: Math.floor((Date.now() - this.started) / 1000),
      agents: { connected: having('connected'), silent: having('silent'), disconnected: having('disconnected'), unhealthy: shown.filter((one) => one.healthy === false).length, total: shown.length },
      ca_fingerprint: '4f9d0c5a771eb26390ab18cde4023f6b51d00a9c7be2f84413aa6ed2905c17f8', opamp_endpoint: 'wss://muster.example.net:4320/v1/opamp', public_url: null,
    };
  }
}

/** Groups, the largest first. */
function grouped(items, keyOf) {
  const groups = new Map();
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item]);
  return [...groups].sort((one, other) => other[1].length - one[1].length);
}

/** A heartbeat, a report of health, and what they were answered. */
function exchange(one) {
  const at = (ago) => new Date(Date.now() - ago).toISOString();
  const from = { instance_uid: one.instance_uid, sequence_num: String(one.sequence_num), capabilities: one.capabilities };
  const to = { instance_uid: one.instance_uid, capabilities: '7' };
  return [
    { at: at(900), direction: 'to agent', size: 20, body: to }, { at: at(902), direction: 'from agent', size: 26, body: from },
    { at: at(30_000), direction: 'to agent', size: 20, body: to },
    { at: at(30_003), direction: 'from agent', size: 412, body: { ...from, sequence_num: String(one.sequence_num - 1), health: one.health } },
  ];
}

/** As the product masks what it shows, near enough: whatever follows a telling key. */
function masked(file) {
  const body = file.body.replace(/^(\s*(?:authorization|password|token|api_key)\s*:\s*)(\S.*)$/gim, '$1"[masked]"');
  return { ...file, body, redacted: body !== file.body, encoding: 'utf8' };
}

/** The remote control: each changes the fleet and tells the streams. */
const CONTROL = {
  set(mock, { uid, ...fields }) {
    Object.assign(mock.agents.get(uid), fields);
    mock.tell([uid]);
  },
  add(mock, { n, ...over }) {
    const one = agent(n, over);
    mock.agents.set(one.instance_uid, one);
    mock.tell([one.instance_uid]);
  },
  remove(mock, { uid }) {
    mock.agents.delete(uid);
    mock.tell([uid]);
  },
  clear(mock) {
    const uids = [...mock.agents.keys()];
    mock.agents.clear();
    mock.tell(uids);
  },
  streams(mock, { refuse }) {
    mock.refuseStreams = refuse;
    if (refuse) for (const stream of mock.streams) stream.destroy();
  },
  /** The agent fails whatever it is given from now on; without an error it takes things again. */
  fail(mock, { uid, error }) {
    if (error) mock.rollouts.failing.set(uid, error);
    else mock.rollouts.failing.delete(uid);
  },
  /** The agent turns unhealthy with the next configuration that it applies. */
  sicken(mock, { uid }) {
    mock.rollouts.ailing.add(uid);
  },
  /** Somebody else changes an assignment; nobody is told. */
  touch(mock, { id }) {
    mock.rollouts.get(id).version += 1;
  },
  /** Somebody else saves a revision. */
  revise(mock, { name, files, author = 'operator', message = 'Saved meanwhile' }) {
    mock.configs.revise(name, { message, files }, author);
  },
  expire(mock) {
    mock.sessions.clear();
  },
  ...hostControl,
  ...serviceControl,
};

async function api(mock, request, response, url) {
  const path = url.pathname.slice('/api/v1'.length);
  if (path === '/session' && request.method === 'POST') return signIn(mock, request, response);
  const id = /muster_session=([\w-]+)/.exec(request.headers.cookie ?? '')?.[1];
  const session = mock.sessions.get(id);
  if (!session) throw new Problem(401, 'not signed in', 'there is no session');
  if (request.method !== 'GET' && request.headers['x-csrf-token'] !== session.csrf) throw new Problem(403, 'refused', 'the x-csrf-token header is missing or wrong');
  if (path === '/session' && request.method === 'DELETE') return mock.sessions.delete(id), response.writeHead(204).end();
  if (path === '/session') return json(response, 200, session);
  if (path === '/overview') return json(response, 200, mock.overview());
  if (path === '/events') return events(mock, request, response);
  const lines = /^\/services\/([^/]+)\/([^/]+)\/logs$/.exec(path);
  if (lines && url.searchParams.get('follow') === 'true') return mock.logs.follow(request, response, ...lines.slice(1).map(decodeURIComponent), url.searchParams);
  if (path === '/agents' && request.method === 'GET') return json(response, 200, mock.list(url.searchParams));
  const found = route(mock, session.user, request, path, url.searchParams, ['GET', 'DELETE'].includes(request.method) ? {} : await body(request));
  if (found) return send(response, found);
  const one = mock.agent(decodeURIComponent(path.replace('/agents/', '')));
  if (request.method !== 'DELETE') return json(response, 200, mock.detail(one));
  if (one.state !== 'disconnected') throw new Problem(409, 'still connected', 'only a disconnected agent can be forgotten');
  CONTROL.remove(mock, { uid: one.instance_uid });
  return response.writeHead(204).end();
}

function send(response, { status, value, etag, replayed, text }) {
  const headers = { ...(etag ? { etag } : {}), ...(replayed ? { 'idempotent-replayed': 'true' } : {}) };
  if (text !== undefined) return response.writeHead(status, { ...headers, 'content-type': 'application/x-ndjson' }).end(text);
  if (value === undefined) return response.writeHead(status, headers).end();
  return json(response, status, value, headers);
}

async function signIn(mock, request, response) {
  const { username, password } = await body(request);
  const user = mock.access.users.get(username);
  if (!user || user.disabled || user.password !== password) throw new Problem(401, 'not signed in', 'wrong user name or password');
  const id = randomUUID();
  const session = { user: { name: user.name, role: user.role }, csrf: randomUUID(), expires_at: new Date(Date.now() + 86_400_000).toISOString() };
  mock.sessions.set(id, session);
  json(response, 200, session, { 'set-cookie': `muster_session=${id}; HttpOnly; SameSite=Strict; Path=/` });
}

function events(mock, request, response) {
  if (mock.refuseStreams) throw new Problem(503, 'unavailable', 'no streams now');
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
  response.write(': open\n\n');
  mock.streams.add(response);
  request.on('close', () => mock.streams.delete(response));
}

async function body(request) {
  const parts = [];
  for await (const part of request) parts.push(part);
  return JSON.parse(Buffer.concat(parts).toString() || '{}');
}

function json(response, status, value, headers = {}) {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value));
}

async function file(response, path) {
  const wanted = normalize(path).replace(/^[/.]+/, '');
  const name = extname(wanted) ? wanted : 'index.html';
  const data = await readFile(join(DIST, name)).catch(() => null);
  if (data === null) throw new Problem(404, 'not found', `no file ${name}; run npm run build first`);
  response.writeHead(200, { 'content-type': TYPES[extname(name)] ?? 'application/octet-stream', 'content-security-policy': POLICY, 'x-content-type-options': 'nosniff' }).end(data);
}

/** Starts the mock on a port (0: any free one); gives its address and a way to end it. */
export async function startMock({ port = 0, extra = 0, pace = 150 } = {}) {
  const mock = new Mock(extra, pace);
  const server = createServer((request, response) => {
    const url = new URL(request.url, 'http://mock');
    answer(mock, request, response, url).catch((error) => {
      const status = error.status ?? 500;
      json(response, status, { type: 'about:blank', title: error.title ?? 'fault', status, detail: error.message, field: error.field, ...error.extra }, { 'content-type': 'application/problem+json' });
    });
  });
  await new Promise((done) => server.listen(port, '127.0.0.1', done));
  const close = () => new Promise((done) => (mock.beats.forEach(clearInterval), server.close(done), server.closeAllConnections()));
  return { url: `http://127.0.0.1:${server.address().port}`, mock, close };
}

async function answer(mock, request, response, url) {
  if (url.pathname.startsWith('/api/v1/')) return api(mock, request, response, url);
  const control = CONTROL[url.pathname.replace('/mock/', '')];
  if (control && request.method === 'POST') {
    control(mock, await body(request));
    return response.writeHead(204).end();
  }
  return file(response, url.pathname);
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const { url } = await startMock({ port: Number(process.argv[2] ?? 0), extra: Number(process.env.MOCK_AGENTS ?? 0), pace: 1500 });
  console.log(`mock on ${url}, login admin / admin`);
}
