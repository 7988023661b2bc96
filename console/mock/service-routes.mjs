// The mock's calls about projects, services, deployments, secrets and registries; rows as those of routes.mjs.
import { lastLines } from './logs.mjs';
import { now, Problem } from './problem.mjs';
import { shown } from './services.mjs';

const reply = (status, value) => ({ status, value });
/** What begins a deployment answers with it, or with nothing. */
const begun = (made) => (made ? reply(201, made) : reply(204));
const audited = (mock, user, action, object, after = null) => mock.access.audit(user.name, action, object, null, after);

export const serviceCalls = [
  ['GET', '/projects', 'viewer', ({ mock }) => reply(200, { items: [...mock.services.projects.values()].sort((a, b) => a.name.localeCompare(b.name)).map((one) => mock.services.projectView(one)) })],
  ['GET', '/projects/:project', 'viewer', ({ mock, at }) => reply(200, mock.services.projectView(mock.services.project(at[0])))],
  ['POST', '/projects/:project/plan', 'viewer', ({ mock, at, body }) => reply(200, mock.services.plan(at[0], body))],
  ['POST', '/projects/:project/deployments', 'operator', ({ mock, user, at, body }) => {
    const made = mock.services.deploy(at[0], body, user.name);
    if (made) audited(mock, user, 'project.deploy', `project/${at[0]}`);
    return begun(made);
  }],
  ['DELETE', '/projects/:project', 'operator', ({ mock, user, at, query }) => {
    const project = mock.services.project(at[0]);
    if (query.get('volumes') === 'true' && user.role !== 'admin') throw new Problem(403, 'refused', 'this needs the role admin');
    if (query.get('volumes') === 'true') project.volumes = [];
    audited(mock, user, 'project.remove', `project/${at[0]}`);
    const made = mock.services.remove(at[0], null, user.name);
    if (!made && project.volumes.length === 0) mock.services.projects.delete(at[0]);
    return begun(made);
  }],
  ['GET', '/services', 'viewer', ({ mock, query }) => reply(200, { items: [...mock.services.projects.values()].filter((one) => !query.get('project') || one.name === query.get('project')).flatMap((one) => mock.services.projectView(one).services) })],
  ['GET', '/services/:project/:service', 'viewer', ({ mock, at }) => reply(200, mock.services.view(at[0], mock.services.service(...at)))],
  ['DELETE', '/services/:project/:service', 'operator', ({ mock, user, at }) => (audited(mock, user, 'service.remove', `service/${at.join('/')}`), begun(mock.services.remove(...at, user.name)))],
  ['GET', '/services/:project/:service/releases', 'viewer', ({ mock, at }) => reply(200, { items: mock.services.releases(...at) })],
  ['GET', '/services/:project/:service/logs', 'viewer', ({ mock, at, query }) => reply(200, lastLines(mock, ...at, query))],
  ['POST', '/services/:project/:service/scale', 'operator', ({ mock, user, at, body }) => (audited(mock, user, 'service.scale', `service/${at.join('/')}`, body), begun(mock.services.scale(...at, body.replicas, user.name)))],
  ['POST', '/services/:project/:service/rollback', 'operator', ({ mock, user, at, body }) => (audited(mock, user, 'service.rollback', `service/${at.join('/')}`, body), begun(mock.services.rollBack(...at, body.to, user.name, body.message)))],
  ['GET', '/deployments', 'viewer', ({ mock, query }) => {
    const project = query.get('project');
    if (project) mock.services.project(project);
    const found = mock.services.deployments.filter((one) => (!project || one.project === project) && (!query.get('before') || Number(one.id) < Number(query.get('before'))));
    const items = found.slice(0, Number(query.get('limit') ?? 100)).map(shown);
    return reply(200, { items, next: items.length < found.length ? items.at(-1).id : null });
  }],
  ['GET', '/deployments/:id', 'viewer', ({ mock, at }) => reply(200, shown(mock.services.deployment(at[0])))],
  ['POST', '/deployments/:id/abort', 'operator', ({ mock, user, at }) => (audited(mock, user, 'deployment.abort', `deployment/${at[0]}`), reply(200, mock.services.abort(at[0], user.name)))],
  ['GET', '/projects/:project/secrets', 'viewer', ({ mock, at }) => reply(200, { items: mock.services.project(at[0]).secrets })],
  ['PUT', '/projects/:project/secrets/:name', 'operator', ({ mock, user, at, body }) => {
    const { secrets } = mock.services.reserve(at[0]);
    const known = secrets.find((one) => one.name === at[1]);
    const fresh = { name: at[1], version: (known?.version ?? 0) + 1, size_bytes: Buffer.from(body.content, 'base64').length, used_by: known?.used_by ?? [], created_by: user.name, created_at: now() };
    if (known) Object.assign(known, fresh);
    else secrets.push(fresh);
    audited(mock, user, 'secret.set', `secret/${at.join('/')}`);
    mock.services.tell(at[0]);
    return reply(204);
  }],
  ['DELETE', '/projects/:project/secrets/:name', 'operator', ({ mock, user, at }) => {
    const project = mock.services.project(at[0]);
    project.secrets = project.secrets.filter((one) => one.name !== at[1]);
    audited(mock, user, 'secret.remove', `secret/${at.join('/')}`);
    mock.services.tell(at[0]);
    return reply(204);
  }],
  ['GET', '/registries', 'viewer', ({ mock }) => reply(200, { items: mock.services.registries })],
  ['PUT', '/registries', 'admin', ({ mock, user, body }) => {
    if (/[/\s]/.test(body.registry)) throw new Problem(422, 'unprocessable', 'registry is a host name with a port where it needs one, such as registry.example:5000', 'registry');
    mock.services.registries = [...mock.services.registries.filter((one) => one.registry !== body.registry), { registry: body.registry, username: body.username, created_by: user.name, created_at: now() }];
    audited(mock, user, 'registry.set', `registry/${body.registry}`);
    return reply(204);
  }],
  ['DELETE', '/registries/:registry', 'admin', ({ mock, user, at }) => {
    mock.services.registries = mock.services.registries.filter((one) => one.registry !== at[0]);
    audited(mock, user, 'registry.remove', `registry/${at[0]}`);
    return reply(204);
  }],
];

/** The remote control of the browser tests. */
export const serviceControl = {
  /** A replica prints. */
  print(mock, { project, service, number, text, stream, times = 1 }) {
    for (let at = 0; at < times; at += 1) mock.logs.print(project, service, number, times === 1 ? text : `${text} ${at}`, stream);
  },
  'cut-logs': (mock) => mock.logs.cut(),
  /** Deployments under way stand still, or go on. */
  hold(mock, { held }) {
    for (const one of mock.services.deployments) one.held = held;
  },
  'no-services': (mock) => {
    mock.services.projects.clear();
    mock.services.deployments = [];
    mock.services.tell('shop');
  },
};
