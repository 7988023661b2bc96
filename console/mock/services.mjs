// The mock's projects: services with replicas and releases, deployments that go on a step each tick, secrets, registries.
// An image with "no-such" in its name cannot be fetched, and what deploys it goes back. Lines are in logs.mjs.
import { readCompose } from './compose.mjs';
import { now, Problem } from './problem.mjs';
import { projects as seeded } from './services-seed.mjs';

const HOSTS = ['eu-1', 'eu-2'];

export class Services {
  constructor(mock) {
    this.mock = mock;
    this.deployments = [];
    this.registries = [{ registry: 'registry.example:5000', username: 'robot', created_by: 'admin', created_at: '2026-11-20T10:00:00.000Z' }];
    this.projects = new Map();
    seeded(this);
  }

  project(name) {
    const found = this.projects.get(name);
    if (!found) throw new Problem(404, 'not found', `there is no project ${name}`);
    return found;
  }

  /** The project, made when there is none of this name. */
  reserve(name) {
    if (!this.projects.has(name)) this.projects.set(name, { name, services: [], volumes: [], secrets: [], created_at: now() });
    return this.project(name);
  }

  service(project, name) {
    const found = this.project(project).services.find((one) => one.name === name);
    if (!found) throw new Problem(404, 'not found', `there is no service ${project}/${name}`);
    return found;
  }

  underWay(project) {
    return this.deployments.find((one) => one.project === project && ['running', 'rolling back'].includes(one.state)) ?? null;
  }

  /** As the API tells it. */
  view(project, { releases: _, ...one }) {
    const replicas = one.replicas.map((it) => this.#seen(it));
    const ready = replicas.filter((it) => ['healthy', 'running'].includes(it.state) && it.phase === 'serving').length;
    const inDeployment = this.underWay(project)?.services.some((it) => it.name === one.name);
    const well = replicas.some((it) => it.state === 'running') ? 'running' : 'healthy';
    const ill = replicas.every((it) => it.state === 'stranded') ? 'stranded' : ready === 0 ? 'failed' : 'degraded';
    const state = inDeployment ? 'updating' : one.wanted === 0 ? 'stopped' : ready >= one.wanted ? well : ill;
    const away = [...new Set(replicas.filter((it) => !it.host_online).map((it) => it.host))];
    const waits = away.length === 0 ? null : `${away.length === 1 ? `host ${away[0]} is` : `hosts ${away.join(', ')} are`} offline`;
    return { volumes: [], ...one, project, replicas, ready, state, waits_for: ready < one.wanted ? waits : null };
  }

  /** A replica as the API tells it: stranded while its host is away. */
  #seen(replica) {
    const host = [...this.mock.hosts.all.values()].find((one) => one.name === replica.host);
    return host && host.state !== 'online' ? { ...replica, state: 'stranded', host_online: false } : replica;
  }

  projectView(one) {
    return { name: one.name, services: one.services.map((it) => this.view(one.name, it)), deployment: this.underWay(one.name), volumes: one.volumes, created_at: one.created_at };
  }

  releases(project, name) {
    const one = this.service(project, name);
    return one.releases.map((it) => ({ ...it, current: it.number === one.release, served: it.served ?? true })).reverse();
  }

  plan(name, body) {
    const wish = readCompose(body);
    const project = this.projects.get(name) ?? { services: [], secrets: [] };
    const refusals = wish.external.filter((it) => !project.secrets.some((one) => one.name === it)).map((it) => `the secret ${it} is not set: muster secrets set ${name}/${it} sets it`);
    if (refusals.length > 0) return { project: name, services: [], warnings: wish.warnings, refusals, text: [] };
    const services = wish.services.map((one) => planned(project.services.find((it) => it.name === one.name && it.wanted + it.replicas.length > 0), one, body.force));
    const gone = project.services.filter((one) => one.wanted > 0 && !wish.services.some((it) => it.name === one.name));
    services.push(...gone.map((one) => ({ name: one.name, change: 'removed', changes: [], replicas_before: one.replicas.length, replicas_after: 0, update: 'its replicas stop', hosts: [] })));
    const nowhere = wish.services.filter((one) => one.host && !HOSTS.includes(one.host));
    return { project: name, services, warnings: wish.warnings, refusals: nowhere.map((one) => `${one.name}: no host is called ${one.host}`), text: services.map((one) => `${one.change} ${one.name}`) };
  }

  deploy(name, body, user) {
    const plan = this.plan(name, body);
    if (plan.refusals.length > 0) throw new Problem(409, 'conflict', plan.refusals.join('; '));
    const wish = readCompose(body);
    const project = this.reserve(name);
    const items = plan.services.filter((one) => one.change !== 'unchanged').map((one) => {
      const wished = wish.services.find((it) => it.name === one.name);
      return this.#item(project, one.name, wished && { image: wished.image, wanted: wished.replicas, ports: wished.ports.map(told), environment: wished.environment }, one.changes, user, body.message);
    });
    return items.length === 0 ? null : this.begin(name, items, user, body.message ?? '');
  }

  /** What a deployment does to a service: a new release, or none. */
  #item(project, name, target, changes, user, message) {
    let service = project.services.find((one) => one.name === name);
    if (!service) project.services.push((service = { id: `svc_${project.name}_${name}`, name, image: target.image, release: null, wanted: 0, ports: target.ports, environment: '{}', replicas: [], releases: [] }));
    const from = service.release;
    if (!target) return { name, from, to: null, target: { wanted: 0 } };
    const number = (service.releases.at(-1)?.number ?? 0) + 1;
    service.releases.push({ number, image: target.image, wanted: target.wanted, author: user, message: message ?? '', created_at: now(), changes });
    return { name, from, to: number, target };
  }

  scale(project, name, replicas, user) {
    const service = this.service(project, name);
    if (replicas === service.wanted) return null;
    const item = this.#item(this.project(project), name, { image: service.image, wanted: replicas, ports: service.ports, environment: service.environment }, [`replicas ${service.wanted} → ${replicas}`], user, `scale ${name} to ${replicas}`);
    return this.begin(project, [{ ...item, stays: true }], user, `scale ${name} to ${replicas}`);
  }

  rollBack(project, name, to, user, message) {
    const service = this.service(project, name);
    const release = service.releases.find((one) => one.number === to);
    if (!release) throw new Problem(404, 'not found', `${project}/${name} has no release ${to}: muster services releases ${project}/${name}`);
    if (service.release === to) return null;
    return this.begin(project, [{ name, from: service.release, to, target: { image: release.image, wanted: service.wanted } }], user, message || 'roll back');
  }

  remove(project, name, user) {
    const names = name ? [this.service(project, name).name] : this.project(project).services.filter((one) => one.wanted > 0).map((one) => one.name);
    const items = names.map((one) => ({ name: one, from: this.service(project, one).release, to: null, target: { wanted: 0 } }));
    return items.length === 0 ? null : this.begin(project, items, user, name ? `remove ${name}` : 'remove the project');
  }

  begin(project, items, user, message, at = now()) {
    const before = this.underWay(project);
    if (before) Object.assign(before, { state: 'superseded', finished_at: at });
    const services = items.map((one) => ({ ...one, state: 'waiting', reason: null, waits_for: null, ready: 0, wanted: one.target.wanted }));
    const made = { id: String(this.deployments.length + 1), project, state: 'running', reason: null, services, created_by: user, message, created_at: at, finished_at: null, age: 0 };
    this.deployments.unshift(made);
    this.tell(project);
    return shown(made);
  }

  deployment(id) {
    const found = this.deployments.find((one) => one.id === id);
    if (!found) throw new Problem(404, 'not found', `there is no deployment ${id}`);
    return found;
  }

  abort(id, user) {
    const one = this.deployment(id);
    if (one.state !== 'running') throw new Problem(409, 'conflict', `deployment ${id} is ${one.state}: only one that is running can be aborted`);
    this.#back(one, `aborted by ${user}`);
    return shown(one);
  }

  #back(one, reason) {
    Object.assign(one, { state: 'rolling back', reason, age: 0 });
    this.tell(one.project);
  }

  /** Each deployment under way goes on: one replica of one service. Held ones wait. */
  tick() {
    for (const one of this.deployments.filter((it) => it.held !== true)) {
      one.age += 1;
      if (one.state === 'rolling back' && one.age > 3) this.#over(one, 'rolled back');
      if (one.state === 'running') this.#step(one);
    }
  }

  #step(one) {
    const next = one.services.find((it) => it.state === 'waiting');
    if (!next) return this.#over(one, 'done');
    const service = this.service(one.project, next.name);
    if (next.target.image?.includes('no-such')) {
      next.waits_for = 'replica 1 to be ready';
      if (one.age < 5) return this.tell(one.project);
      Object.assign(next, { state: 'failed', waits_for: null, reason: `replica 1 on eu-1: pull access denied for ${next.target.image}, repository does not exist` });
      return this.#back(one, `${next.name}: ${next.reason}`);
    }
    if (next.ready < next.wanted) {
      next.ready += 1;
      next.waits_for = next.ready < next.wanted ? `replica ${next.ready + 1} to be ready` : null;
      return this.tell(one.project);
    }
    Object.assign(next, { state: 'done', waits_for: null });
    const { image = service.image, wanted, ports = service.ports, environment = service.environment } = next.target;
    Object.assign(service, { image, wanted, ports, environment, release: next.to ?? service.release });
    service.replicas = Array.from({ length: wanted }, (_, at) => replicaOf(one.project, service, at + 1));
    this.tell(one.project);
  }

  #over(one, state) {
    Object.assign(one, { state, finished_at: now() });
    this.tell(one.project);
  }

  tell(project) {
    this.mock.hint('projects', { names: [project] });
  }
}

/** Without what only the mock knows. */
export const shown = ({ age: _, held: __, ...one }) => ({ ...one, services: one.services.map(({ target: ___, stays: ____, ...it }) => it) });

export function replicaOf(project, service, number, over = {}) {
  const host = HOSTS[(number - 1) % HOSTS.length];
  return {
    id: `rep_${project}_${service.name}_${number}_${service.release}`, name: `${project}-${service.name}-${number}`, project, service: service.name, number, state: 'healthy', phase: 'serving', host, host_online: true,
    release: service.release, container: '9f1c02ab77de', addresses: [`10.208.0.${number + 8}`], restarts: 0, started_at: now(), exit_code: null, reason: null, last_lines: [], ...over,
  };
}

const told = (port) => `${port.split(':')[0]}/tcp → ${port.split(':').at(-1)}`;

function planned(known, one, force) {
  const hosts = [...new Set(Array.from({ length: one.replicas }, (_, at) => one.host ?? HOSTS[at % HOSTS.length]))];
  const base = { name: one.name, replicas_before: known?.wanted ?? 0, replicas_after: one.replicas, hosts };
  if (!known) return { ...base, change: 'new', changes: [], update: 'starts' };
  const changes = [
    ...(known.image === one.image ? [] : [`image ${known.image} → ${one.image}`]), ...(known.environment === one.environment ? [] : ['environment: another']), ...(force ? ['deployed anew on request'] : []),
  ];
  if (changes.length > 0) return { ...base, change: 'changed', changes, update: 'one replica at a time, the new one first' };
  if (known.wanted !== one.replicas) return { ...base, change: 'scaled', changes: [`replicas ${known.wanted} → ${one.replicas}`], update: 'its replicas stay' };
  return { ...base, change: 'unchanged', changes, update: 'stays as it is' };
}
