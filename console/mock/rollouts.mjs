// The mock's assignments and what they do to agents: who gets what, batches that are released one after the other,
// agents that take a moment to answer and sometimes fail, and a rollout that pauses by itself. tick() is one moment.
import { EXTENSION_REASON } from './fleet.mjs';
import { now, Problem } from './problem.mjs';
import { selector } from './selector.mjs';

const MOVING = ['rolling', 'paused', 'clearing'];
const NOTHING = { config: null, revision: null, assignment: null, override: false };

export class Rollouts {
  constructor(mock) {
    this.mock = mock;
    this.all = new Map();
    this.overrides = new Map();
    /** What each agent last took: uid -> {config, revision, status, error}. */
    this.runs = new Map();
    /** Agents that fail whatever they are given next, and those that turn ill by it: uid -> what they say. */
    this.failing = new Map();
    this.ailing = new Set();
    this.lastId = 0;
  }

  get(id) {
    const found = this.all.get(String(id));
    if (!found) throw new Problem(404, 'not found', 'there is no such assignment');
    return found;
  }

  of(config) {
    return [...this.all.values()].filter((one) => one.config === config);
  }

  having(config) {
    return [...this.mock.agents.values()].filter((agent) => this.wanted(agent).config === config && accepts(agent));
  }

  /** The one rule: an override, else the matching assignment with the highest priority, the older one when equal. */
  wanted(agent) {
    const pinned = this.overrides.get(agent.instance_uid);
    if (pinned) return { ...NOTHING, ...pinned, override: true };
    const winner = this.winner(agent);
    if (!winner) return NOTHING;
    const revision = winner.grants.get(agent.instance_uid)?.revision ?? winner.settled;
    return { ...NOTHING, config: revision === null ? null : winner.config, revision, assignment: winner.id };
  }

  winner(agent, besides = null) {
    const found = [...this.all.values()].filter((one) => one.id !== besides && one.state !== 'clearing' && selector(one.selector)(agent));
    return found.sort((a, b) => b.priority - a.priority || Number(a.id) - Number(b.id))[0] ?? null;
  }

  /** AgentSummary.config. */
  standing(agent) {
    const wanted = this.wanted(agent);
    const base = { config: wanted.config, revision: wanted.revision, assignment: wanted.assignment, override: wanted.override, reason: null };
    if (!accepts(agent)) return { ...base, config: null, revision: null, state: 'not configurable', reason: agent.name === 'otelcol-node' ? EXTENSION_REASON : 'it does not accept a configuration from a server' };
    if (wanted.revision === null) return { ...base, state: 'unmanaged', reason: wanted.assignment ? 'waits for its batch' : null };
    const run = this.runs.get(agent.instance_uid);
    if (!same(run, wanted)) return { ...base, state: 'offered', reason: agent.state === 'disconnected' ? 'it is disconnected and gets it when it connects' : null };
    if (run.status === 'applied' && agent.drift) return { ...base, state: 'drifted', reason: `${agent.drift.length} values differ from what was offered` };
    return { ...base, state: run.status === 'applied' ? 'in sync' : run.status, reason: run.error };
  }

  create({ config, revision, selector: text = '', priority = 0, batch_percent: percent = 10 }, author) {
    const number = this.mock.configs.revision(config, revision ?? this.mock.configs.latest(config).number).number;
    selector(text);
    bounds(priority, percent);
    const one = {
      id: String((this.lastId += 1)), config, selector: text, priority, state: 'rolling', settled: null, target: null, batch_percent: percent,
      grants: new Map(), pause: null, created_by: author, created_at: now(), updated_at: now(), version: 1,
    };
    this.all.set(one.id, one);
    this.start(one, number, percent);
    return one;
  }

  start(one, revision, percent = one.batch_percent) {
    Object.assign(one, { state: 'rolling', target: revision, batch_percent: percent, pause: null, grants: new Map([...one.grants].filter(([, grant]) => grant.revision === revision)) });
    one.eligible = this.eligible(one).map((agent) => agent.instance_uid);
    one.batch_size = Math.max(1, Math.ceil((one.eligible.length * percent) / 100));
    this.touch(one);
  }

  touch(one) {
    one.version += 1;
    one.updated_at = now();
    this.mock.hint('assignments', { ids: [one.id] });
  }

  matching(one) {
    return [...this.mock.agents.values()].filter((agent) => agent.replaced_by === null).filter(selector(one.selector));
  }

  eligible(one) {
    return this.matching(one).filter((agent) => accepts(agent) && !this.overrides.has(agent.instance_uid) && this.winner(agent) === one);
  }

  patch(one, { selector: text, priority, batch_percent: percent }) {
    if (text !== undefined) selector(text);
    bounds(priority ?? 0, percent ?? 10);
    if (text !== undefined) one.selector = text;
    if (priority !== undefined) one.priority = priority;
    if (percent !== undefined) one.batch_percent = percent;
    this.touch(one);
  }

  pause(one, kind, agent, text) {
    if (one.state !== 'rolling') throw new Problem(409, 'not rolling', `the assignment is ${one.state}`);
    one.state = 'paused';
    const { name = null, host = null } = this.mock.agents.get(agent) ?? {};
    one.pause = { kind, agent, agent_name: name, host, text };
    this.touch(one);
  }

  resume(one) {
    if (one.state !== 'paused') throw new Problem(409, 'not paused', `the assignment is ${one.state}`);
    for (const grant of one.grants.values()) grant.forgiven = true;
    one.state = 'rolling';
    one.pause = null;
    this.touch(one);
  }

  abort(one) {
    if (!['rolling', 'paused'].includes(one.state)) throw new Problem(409, 'nothing to abort', `the assignment is ${one.state}`);
    one.state = 'aborted';
    one.pause = null;
    this.touch(one);
  }

  remove(one, clear) {
    if (clear) {
      one.cleared = this.eligible(one).filter((agent) => this.runs.get(agent.instance_uid)?.config === one.config);
      one.state = 'clearing';
      return this.touch(one);
    }
    this.all.delete(one.id);
    this.mock.hint('assignments', { ids: [one.id] });
    this.mock.tell(this.matching(one).map((agent) => agent.instance_uid));
  }

  view(one) {
    return {
      id: one.id, config: one.config, selector: one.selector, priority: one.priority, state: one.state, revision: one.target ?? one.settled, settled_revision: one.settled,
      batch_percent: one.batch_percent, pause: one.pause, progress: this.progress(one), created_by: one.created_by, created_at: one.created_at, updated_at: one.updated_at,
    };
  }

  progress(one) {
    const matched = this.matching(one);
    const able = matched.filter(accepts);
    const eligible = this.eligible(one);
    const goal = one.target ?? one.settled;
    const released = eligible.filter((agent) => one.target === null || one.grants.has(agent.instance_uid));
    const having = (...statuses) => released.filter((agent) => same(this.runs.get(agent.instance_uid), { config: one.config, revision: goal }) && statuses.includes(this.runs.get(agent.instance_uid).status)).length;
    const counts = { applied: having('applied'), applying: having('applying', 'offered'), failed: having('failed') };
    return {
      matched: matched.length, eligible: eligible.length, released: released.length, ...counts, waiting: eligible.length - released.length,
      offline: released.filter((agent) => agent.state === 'disconnected').length, incapable: matched.length - able.length, outranked: able.length - eligible.length,
    };
  }

  agents(one, state) {
    const rows = this.eligible(one).map((agent) => {
      const { state: word, revision, reason } = this.standing(agent);
      return {
        instance_uid: agent.instance_uid, name: agent.name, host: agent.host, connection: agent.state, state: word, revision,
        error: word === 'failed' ? reason : null, released: one.target === null || one.grants.has(agent.instance_uid),
      };
    });
    return rows.filter((row) => !state || (state === 'waiting' ? !row.released : row.released && row.state === state));
  }

  preview({ config, revision, selector: text = '', priority = 0, batch_percent: percent = 10, assignment = null, limit = 100 }) {
    const number = this.mock.configs.revision(config, revision ?? this.mock.configs.latest(config).number).number;
    const matched = [...this.mock.agents.values()].filter((agent) => agent.replaced_by === null).filter(selector(text));
    const agents = matched.map((agent) => this.outcome(agent, { config, revision: number, priority, assignment }));
    const order = ['gets', 'offline', 'not configurable', 'outranked', 'overridden', 'has it'];
    agents.sort((a, b) => order.indexOf(a.outcome) - order.indexOf(b.outcome));
    const having = (word) => agents.filter((agent) => agent.outcome === word).length;
    const changes = having('gets') + having('offline');
    return {
      matched: matched.length, gets: changes + having('has it'), changes, offline: having('offline'), incapable: having('not configurable'), outranked: having('outranked'),
      overridden: having('overridden'), batches: Math.ceil(changes / Math.max(1, Math.ceil((changes * percent) / 100))),
      agents: agents.slice(0, limit), total: agents.length,
    };
  }

  outcome(agent, plan) {
    const wanted = this.wanted(agent);
    const row = { instance_uid: agent.instance_uid, name: agent.name, host: agent.host, connection: agent.state, reason: null, now: wanted.revision === null || !accepts(agent) ? null : { config: wanted.config, revision: wanted.revision } };
    const other = this.winner(agent, plan.assignment);
    if (!accepts(agent)) return { ...row, outcome: 'not configurable', reason: this.standing(agent).reason };
    if (this.overrides.has(agent.instance_uid)) return { ...row, outcome: 'overridden', reason: `it is pinned to ${wanted.config} revision ${wanted.revision}` };
    if (other && (other.priority > plan.priority || (other.priority === plan.priority && !plan.assignment))) return { ...row, outcome: 'outranked', reason: `assignment ${other.id} (${other.config}, priority ${other.priority}) comes first` };
    if (same(row.now, plan) && this.standing(agent).state === 'in sync') return { ...row, outcome: 'has it' };
    return agent.state === 'disconnected' ? { ...row, outcome: 'offline', reason: 'it gets it when it connects' } : { ...row, outcome: 'gets' };
  }

  /** One moment: agents answer, offers leave, batches are released. */
  tick() {
    const moved = [...this.mock.agents.values()].filter((agent) => accepts(agent) && agent.state !== 'disconnected' && this.move(agent));
    if (moved.length > 0) this.mock.tell(moved.map((agent) => agent.instance_uid));
    for (const one of this.all.values()) if (MOVING.includes(one.state)) this.advance(one, moved);
  }

  move(agent) {
    const wanted = this.wanted(agent);
    const run = this.runs.get(agent.instance_uid);
    if (wanted.revision === null) return false;
    if (!same(run, wanted)) return this.took(agent, { config: wanted.config, revision: wanted.revision, status: 'offered', error: null });
    if (run.status === 'offered') return this.took(agent, { ...run, status: 'applying' });
    if (run.status !== 'applying' || agent.stuck) return false;
    const error = this.failing.get(agent.instance_uid) ?? fault(this.mock.configs.revision(run.config, run.revision));
    this.took(agent, { ...run, status: error ? 'failed' : 'applied', error });
    if (!error) this.applied(agent, run);
    return true;
  }

  took(agent, run) {
    this.runs.set(agent.instance_uid, run);
    agent.drift = null;
    const status = run.status === 'offered' ? 'applying' : run.status;
    agent.remote_config = { status, error: run.error };
    agent.remote_config_status = { hash: this.mock.configs.revision(run.config, run.revision).hash, status, error: run.error };
    return true;
  }

  applied(agent, run) {
    const { files, hash } = this.mock.configs.revision(run.config, run.revision);
    if (agent.capabilities.includes('ReportsEffectiveConfig')) agent.effective_config = { hash, files: files.map((file) => ({ ...file, redacted: false, encoding: 'utf8' })) };
    if (this.ailing.delete(agent.instance_uid)) Object.assign(agent, { healthy: false, health_status: 'StatusRecoverableError' });
  }

  advance(one, moved) {
    if (moved.some((agent) => one.grants.has(agent.instance_uid))) this.mock.hint('assignments', { ids: [one.id] });
    if (one.state === 'clearing') return this.remove(one, false);
    if (one.state !== 'rolling') return;
    const mine = this.eligible(one);
    for (const agent of mine.filter((found) => one.grants.has(found.instance_uid) && !one.grants.get(found.instance_uid).forgiven)) {
      const { state, reason } = this.standing(agent);
      if (state === 'failed') return this.pause(one, 'failed', agent.instance_uid, reason);
      if (one.grants.get(agent.instance_uid).healthy === true && agent.healthy === false) return this.pause(one, 'health lost', agent.instance_uid, 'it was healthy before it was given the revision and is not now');
    }
    const settled = (agent) => agent.state === 'disconnected' || ['in sync', 'drifted', 'failed'].includes(this.standing(agent).state);
    if (mine.some((agent) => one.grants.has(agent.instance_uid) && !settled(agent))) return;
    const left = mine.filter((agent) => !one.grants.has(agent.instance_uid));
    for (const agent of left.slice(0, one.batch_size)) one.grants.set(agent.instance_uid, { revision: one.target, healthy: agent.healthy, forgiven: false });
    if (left.length === 0) Object.assign(one, { state: 'done', settled: one.target, target: null, grants: new Map() });
    this.touch(one);
  }
}

export function accepts(agent) {
  return agent.capabilities.includes('AcceptsRemoteConfig');
}

function same(run, wanted) {
  return Boolean(run) && run.config === wanted.config && run.revision === wanted.revision;
}

/** A component called nosuch… is what no agent was built with. */
function fault(revision) {
  const found = revision.files.map((file) => /^\s+(nosuch\w*)(?:\/\S+)?:/m.exec(file.body)).find(Boolean);
  return found ? `'exporters' unknown type: "${found[1]}" for id: "${found[1]}" (valid values: [debug otlp otlphttp])` : null;
}

function bounds(priority, percent) {
  if (!Number.isInteger(priority) || Math.abs(priority) > 1_000_000) throw new Problem(400, 'bad priority', 'a priority is a whole number', 'priority');
  if (!Number.isInteger(percent) || percent < 1 || percent > 100) throw new Problem(400, 'bad batch', 'a batch is 1 to 100 percent', 'batch_percent');
}
