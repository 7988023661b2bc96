// The mock's part of the API that changes things: configurations, assignments, overrides, labels, views, users, tokens
// and the audit; hosts and services have files of their own. One row for each call: method, path, the role it needs, what it does. server.mjs has the rest.
import { createHash } from 'node:crypto';
import { ROLES, shown } from './access.mjs';
import { check, diff } from './configs.mjs';
import { hostCalls } from './hosts.mjs';
import { now, Problem } from './problem.mjs';
import { selector } from './selector.mjs';
import { serviceCalls } from './service-routes.mjs';

const reply = (status, value, version) => ({ status, value, etag: version === undefined ? undefined : `"${version}"` });
const page = (items, query) => {
  const from = Number(query.get('cursor') || 0);
  const limit = Number(query.get('limit') || 100);
  return reply(200, { items: items.slice(from, from + limit), next_cursor: from + limit < items.length ? String(from + limit) : null, total: items.length });
};
const facts = ({ number, hash }) => ({ revision: number, hash });
const view = (mock, one) => reply(200, mock.rollouts.view(one), one.version);

const configs = [
  ['GET', '/configs', 'viewer', ({ mock, query }) => page([...mock.configs.all.keys()].sort().filter((name) => name.includes(query.get('q') ?? '')).map((name) => mock.configs.summary(name)), query)],
  ['POST', '/configs', 'operator', ({ mock, user, body }) => {
    const made = mock.configs.create(body, user.name);
    mock.access.audit(user.name, 'config.create', `config/${made.name}`, null, { description: made.description, revision: 1, hash: made.hash });
    return reply(201, made, mock.configs.get(made.name).version);
  }],
  ['POST', '/configs/check', 'viewer', ({ body }) => reply(200, check(body.files))],
  ['POST', '/configs/diff', 'viewer', ({ body }) => reply(200, diff(body.from.files, body.to.files))],
  ['POST', '/configs/import', 'operator', ({ mock, user, body }) => {
    const agent = mock.agent(body.agent);
    if (!agent.effective_config) throw new Problem(409, 'nothing to import', 'the agent does not report the configuration it runs', 'agent');
    const files = agent.effective_config.files.filter((file) => file.encoding === 'utf8');
    const made = mock.configs.create({ ...body, files, message: body.message ?? `Imported from ${agent.name}` }, user.name);
    mock.access.audit(user.name, 'config.import', `config/${made.name}`, null, { imported_from: body.agent, hash: made.hash });
    return reply(201, made, 1);
  }],
  ['GET', '/configs/:name', 'viewer', ({ mock, at }) => reply(200, mock.configs.detail(at[0]), mock.configs.get(at[0]).version)],
  ['PATCH', '/configs/:name', 'operator', ({ mock, user, at, body, match }) => {
    const one = mock.configs.get(at[0]);
    match(one.version);
    mock.access.audit(user.name, 'config.describe', `config/${one.name}`, { description: one.description }, { description: body.description });
    Object.assign(one, { description: body.description, version: one.version + 1 });
    return reply(200, mock.configs.detail(one.name), one.version);
  }],
  ['DELETE', '/configs/:name', 'operator', ({ mock, user, at, match }) => {
    match(mock.configs.get(at[0]).version);
    const last = facts(mock.configs.latest(at[0]));
    mock.configs.remove(at[0]);
    mock.access.audit(user.name, 'config.delete', `config/${at[0]}`, last, null);
    return reply(204);
  }],
  ['GET', '/configs/:name/revisions', 'viewer', ({ mock, at, query }) => page(mock.configs.history(at[0]), query)],
  ['POST', '/configs/:name/revisions', 'operator', ({ mock, user, at, body, match }) => {
    match(mock.configs.get(at[0]).version);
    const before = facts(mock.configs.latest(at[0]));
    const made = mock.configs.revise(at[0], body, user.name);
    if (!made) return reply(200, mock.configs.latest(at[0]), mock.configs.get(at[0]).version);
    mock.access.audit(user.name, 'config.revise', `config/${at[0]}`, before, { ...facts(made), message: made.message });
    return reply(201, made, mock.configs.get(at[0]).version);
  }],
  ['GET', '/configs/:name/revisions/:number', 'viewer', ({ mock, at }) => reply(200, mock.configs.revision(...at))],
  ['GET', '/configs/:name/diff', 'viewer', ({ mock, at, query }) => reply(200, diff(mock.configs.revision(at[0], query.get('from')).files, mock.configs.revision(at[0], query.get('to')).files))],
];

/** The verbs of an assignment: each checks the version, acts, and writes the audit. */
const verb = (name, act) => ['POST', `/assignments/:id/${name}`, 'operator', ({ mock, user, at, body, match }) => {
  const one = mock.rollouts.get(at[0]);
  match(one.version);
  const before = { state: one.state, revision: one.target ?? one.settled };
  act(mock, one, body, user);
  mock.access.audit(user.name, `assignment.${name === 'revision' ? 'set-revision' : name}`, `assignment/${one.id}`, before, { state: one.state, revision: one.target ?? one.settled, ...(body.reason ? { reason: body.reason } : {}) });
  return view(mock, one);
}];

const assignments = [
  ['GET', '/assignments', 'viewer', ({ mock, query }) => page([...mock.rollouts.all.values()].filter((one) => (!query.get('config') || one.config === query.get('config')) && (!query.get('state') || one.state === query.get('state'))).map((one) => mock.rollouts.view(one)).reverse(), query)],
  ['POST', '/assignments/preview', 'viewer', ({ mock, body }) => reply(200, mock.rollouts.preview(body))],
  ['POST', '/assignments', 'operator', ({ mock, user, body }) => {
    const made = mock.rollouts.create(body, user.name);
    mock.access.audit(user.name, 'assignment.create', `assignment/${made.id}`, null, { config: made.config, revision: made.target, selector: made.selector, priority: made.priority, batch_percent: made.batch_percent });
    return { ...view(mock, made), status: 201 };
  }],
  ['GET', '/assignments/:id', 'viewer', ({ mock, at }) => view(mock, mock.rollouts.get(at[0]))],
  ['PATCH', '/assignments/:id', 'operator', ({ mock, user, at, body, match }) => {
    const one = mock.rollouts.get(at[0]);
    match(one.version);
    const before = { selector: one.selector, priority: one.priority, batch_percent: one.batch_percent };
    mock.rollouts.patch(one, body);
    mock.access.audit(user.name, 'assignment.change', `assignment/${one.id}`, before, { selector: one.selector, priority: one.priority, batch_percent: one.batch_percent });
    return view(mock, one);
  }],
  ['DELETE', '/assignments/:id', 'operator', ({ mock, user, at, query, match }) => {
    const one = mock.rollouts.get(at[0]);
    match(one.version);
    const clear = query.get('clear') === 'true';
    mock.access.audit(user.name, 'assignment.delete', `assignment/${one.id}`, { config: one.config, selector: one.selector }, { clear });
    mock.rollouts.remove(one, clear);
    return reply(clear ? 202 : 204, clear ? mock.rollouts.view(one) : undefined);
  }],
  ['GET', '/assignments/:id/agents', 'viewer', ({ mock, at, query }) => page(mock.rollouts.agents(mock.rollouts.get(at[0]), query.get('state')), query)],
  verb('revision', (mock, one, body) => mock.rollouts.start(one, mock.configs.revision(one.config, body.revision).number, body.batch_percent)),
  verb('pause', (mock, one, body, user) => mock.rollouts.pause(one, 'operator', null, body.reason || `paused by ${user.name}`)),
  verb('resume', (mock, one) => mock.rollouts.resume(one)),
  verb('abort', (mock, one) => mock.rollouts.abort(one)),
];

function label(mock, agent, labels) {
  const bad = Object.entries(labels).find(([key, value]) => !/^[A-Za-z0-9][A-Za-z0-9._/-]{0,62}$/.test(key) || Buffer.byteLength(value) > 63);
  if (bad) throw new Problem(400, 'bad label', `"${bad[0]}=${bad[1]}" is no good label`, 'labels');
  const changed = JSON.stringify(agent.labels) !== JSON.stringify(labels);
  agent.labels = labels;
  return changed;
}

/** The keys of attributes and labels that some agent has. */
function keysOf(agents) {
  const described = ({ description }) => [...description.identifying, ...description.non_identifying].map(({ key }) => key);
  return [...new Set(agents.flatMap((agent) => [...described(agent), ...Object.keys(agent.labels)]))].sort();
}

/** The audit about it and about its assignment, and its own turns. */
function timeline(mock, agent) {
  const assignment = mock.rollouts.standing(agent).assignment;
  const objects = [`agent/${agent.instance_uid}`, `assignment/${assignment}`];
  const changes = mock.access.trail.filter((one) => objects.includes(one.object)).map(({ id: _, address: __, ...one }) => ({ ...one, text: null }));
  const turn = (action, at, text = null) => (at ? [{ at, action: `agent.${action}`, object: objects[0], actor: null, text, before: null, after: null }] : []);
  return [
    ...changes, ...turn('first-seen', agent.first_seen), ...turn('enrolled', agent.enrolled_at, `with the enrolment token "${agent.credential.label}"`),
    ...turn('connected', agent.connected_since, `by ${agent.transport} from ${agent.peer_address}`), ...turn('disconnected', agent.state === 'disconnected' ? agent.last_seen : null, 'heard for the last time'),
    ...turn('health', agent.health?.status_time, agent.healthy ? 'healthy: StatusOK' : `unhealthy: ${agent.health_status}`),
  ].sort((one, other) => other.at.localeCompare(one.at));
}

const agents = [
  ['GET', '/agents/:uid/timeline', 'viewer', ({ mock, at }) => reply(200, { items: timeline(mock, mock.agent(at[0])) })],
  ['GET', '/agents/:uid/messages', 'operator', ({ mock, at }) => reply(200, mock.messages(mock.agent(at[0])))],
  ['GET', '/agents/attribute-keys', 'viewer', ({ mock }) => reply(200, { items: keysOf([...mock.agents.values()]) })],
  ['PUT', '/agents/:uid/config', 'operator', ({ mock, user, at, body }) => {
    const agent = mock.agent(at[0]);
    if (!agent.capabilities.includes('AcceptsRemoteConfig')) throw new Problem(409, 'not configurable', mock.rollouts.standing(agent).reason);
    const { number } = mock.configs.revision(body.config, body.revision ?? mock.configs.latest(body.config).number);
    mock.access.audit(user.name, 'agent.pin', `agent/${at[0]}`, mock.rollouts.overrides.get(at[0]) ?? null, { config: body.config, revision: number });
    mock.rollouts.overrides.set(at[0], { config: body.config, revision: number });
    mock.tell(at);
    return reply(200, mock.rollouts.standing(agent));
  }],
  ['DELETE', '/agents/:uid/config', 'operator', ({ mock, user, at }) => {
    mock.access.audit(user.name, 'agent.unpin', `agent/${at[0]}`, mock.rollouts.overrides.get(at[0]) ?? null, null);
    mock.rollouts.overrides.delete(at[0]);
    mock.tell(at);
    return reply(204);
  }],
  ['PUT', '/agents/:uid/labels', 'operator', ({ mock, user, at, body }) => {
    const agent = mock.agent(at[0]);
    const before = agent.labels;
    label(mock, agent, body.labels);
    mock.access.audit(user.name, 'agent.label', `agent/${at[0]}`, before, agent.labels);
    mock.tell(at);
    return reply(200, { labels: agent.labels });
  }],
  ['POST', '/labels', 'operator', ({ mock, user, body }) => {
    const chosen = body.agents ? body.agents.map((uid) => mock.agent(uid)) : [...mock.agents.values()].filter(selector(body.selector ?? ''));
    const changed = chosen.filter((agent) => {
      const labels = { ...agent.labels, ...body.set };
      for (const key of body.remove ?? []) delete labels[key];
      return label(mock, agent, labels);
    });
    mock.access.audit(user.name, 'agent.label', 'agents', null, { set: body.set ?? {}, remove: body.remove ?? [], changed: changed.length });
    mock.tell(changed.map((agent) => agent.instance_uid));
    return reply(200, { matched: chosen.length, changed: changed.length });
  }],
  ['GET', '/views', 'viewer', ({ mock, query }) => page(mock.access.views, query)],
  ['POST', '/views', 'operator', ({ mock, user, body }) => {
    if (mock.access.views.some((one) => one.name === body.name)) throw new Problem(409, 'exists already', `there is a view "${body.name}" already`, 'name');
    const made = { id: String(mock.access.views.length + 1), name: body.name, query: body.query, created_by: user.name, created_at: now() };
    mock.access.views.push(made);
    return reply(201, made);
  }],
  ['DELETE', '/views/:id', 'operator', ({ mock, at }) => {
    mock.access.views = mock.access.views.filter((one) => String(one.id) !== at[0]);
    return reply(204);
  }],
];

const access = [
  ['GET', '/users', 'admin', ({ mock, query }) => page([...mock.access.users.values()].map(shown), query)],
  ['POST', '/users', 'admin', ({ mock, user, body }) => {
    const made = mock.access.addUser(body);
    mock.access.audit(user.name, 'user.create', `user/${made.name}`, null, { role: made.role });
    return reply(201, made, 1);
  }],
  ['PATCH', '/users/:name', 'admin', ({ mock, user, at, body, match }) => {
    const before = shown(mock.access.user(at[0]));
    match(mock.access.user(at[0]).version);
    const made = mock.access.changeUser(at[0], body);
    mock.access.audit(user.name, 'user.change', `user/${at[0]}`, { role: before.role, disabled: before.disabled }, { role: made.role, disabled: made.disabled, password_changed: body.password !== undefined });
    return reply(200, made, mock.access.user(at[0]).version);
  }],
  ['DELETE', '/users/:name', 'admin', ({ mock, user, at }) => {
    const { role } = mock.access.user(at[0]);
    mock.access.removeUser(at[0]);
    mock.access.audit(user.name, 'user.delete', `user/${at[0]}`, { role }, null);
    return reply(204);
  }],
  ['POST', '/session/password', 'viewer', ({ mock, user, body }) => {
    mock.access.changePassword(user.name, body);
    mock.access.audit(user.name, 'user.change-password', `user/${user.name}`);
    return reply(204);
  }],
  ['GET', '/api-tokens', 'viewer', ({ mock, user, query }) => page(mock.access.tokens.filter((one) => user.role === 'admin' || one.created_by === user.name), query)],
  ['POST', '/api-tokens', 'viewer', ({ mock, user, body }) => {
    const made = mock.access.addToken(body, user);
    mock.access.audit(user.name, 'api-token.create', `api-token/${made.id}`, null, { label: made.label, role: made.role });
    return reply(201, made);
  }],
  ['DELETE', '/api-tokens/:id', 'viewer', ({ mock, user, at }) => {
    const found = mock.access.tokens.find((one) => String(one.id) === at[0]);
    if (!found) throw new Problem(404, 'not found', 'there is no such token');
    found.revoked_at = now();
    mock.access.audit(user.name, 'api-token.revoke', `api-token/${at[0]}`, { label: found.label }, null);
    return reply(204);
  }],
  ['GET', '/tokens', 'viewer', ({ mock }) => reply(200, { items: mock.access.enrolTokens })],
  ['POST', '/tokens', 'operator', ({ mock, user, body }) => {
    const made = mock.access.addEnrolToken(body);
    mock.access.audit(user.name, 'token.create', `token/${made.id}`, null, { label: made.label });
    return reply(201, made);
  }],
  ['DELETE', '/tokens/:id', 'operator', ({ mock, user, at }) => {
    const found = mock.access.enrolTokens.find((one) => one.id === at[0]);
    if (!found) throw new Problem(404, 'not found', 'there is no such token');
    found.revoked_at = now();
    mock.access.audit(user.name, 'token.revoke', `token/${at[0]}`, { label: found.label }, null);
    return reply(204);
  }],
  ['GET', '/audit', 'viewer', ({ mock, query }) => page(mock.access.found(query), query)],
  ['GET', '/audit/export', 'admin', ({ mock, query }) => ({ status: 200, text: mock.access.found(query).map((one) => JSON.stringify(one)).join('\n') })],
];

const ROUTES = [...configs, ...assignments, ...agents, ...access, ...hostCalls, ...serviceCalls].map(([method, path, role, act]) => ({
  method, role, act, pattern: new RegExp(`^${path.replace(/:\w+/g, '([^/]+)')}$`),
}));

/** The answer of one of these calls, or null when the path is none of them. */
export function route(mock, user, request, path, query, body) {
  for (const { method, pattern, role, act } of ROUTES) {
    const found = request.method === method ? pattern.exec(path) : null;
    if (!found) continue;
    if (ROLES.indexOf(user.role) < ROLES.indexOf(role)) throw new Problem(403, 'refused', `this needs the role ${role}; you are ${user.role}`);
    const wanted = request.headers['if-match'];
    const match = (version) => {
      if (wanted && wanted !== `"${version}"`) throw new Problem(412, 'changed-meanwhile', 'it was changed after you read it');
    };
    const call = () => act({ mock, user, query, body, match, at: found.slice(1).map(decodeURIComponent) });
    return method === 'POST' ? once(mock, user, request, path, body, call) : call();
  }
  return null;
}

/** The same Idempotency-Key with the same body is answered as the first time. */
function once(mock, user, request, path, body, call) {
  const key = request.headers['idempotency-key'];
  if (!key) return call();
  const id = `${user.name} ${key}`;
  const print = createHash('sha256').update(path + JSON.stringify(body)).digest('hex');
  const known = mock.answers.get(id);
  if (known && known.print !== print) throw new Problem(422, 'key used before', 'this Idempotency-Key came with another request');
  if (known) return { ...known.answer, replayed: true };
  const answer = call();
  mock.answers.set(id, { print, answer });
  return answer;
}
