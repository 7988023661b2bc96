// What the mock knows when it starts: configurations with a past, assignments that are done, one agent for each state
// of a configuration, labels, a view and some audit.
import { agent } from './fleet.mjs';

const uid = (n) => agent(n).instance_uid;
const ago = (hours) => new Date(Date.now() - hours * 3_600_000).toISOString();

const gateway = (limit, extra = '') => `receivers:
  otlp:
    protocols:
      grpc:
        endpoint: 0.0.0.0:4317
processors:
  memory_limiter:
    check_interval: 1s
    limit_mib: ${limit}
  batch:
    send_batch_size: 8192
exporters:
  otlphttp/backend:
    endpoint: https://telemetry.example.net
    headers:
      Authorization: "Bearer \${env:BACKEND_TOKEN}"
${extra}service:
  pipelines:
    traces:
      receivers: [otlp]
      processors: [memory_limiter, batch]
      exporters: [otlphttp/backend]
    metrics:
      receivers: [otlp]
      processors: [memory_limiter, batch]
      exporters: [otlphttp/backend]
`;
const node = (interval) => `receivers:
  hostmetrics:
    collection_interval: ${interval}
    scrapers:
      cpu:
      memory:
exporters:
  otlphttp:
    endpoint: https://gateway.example.net
service:
  pipelines:
    metrics:
      receivers: [hostmetrics]
      exporters: [otlphttp]
`;

const PAST = [
  ['gateway', 'Collectors at the edge of each site', [
    ['admin', 'First version', 900, [{ name: 'collector.yaml', body: gateway(512) }]],
    ['operator', 'Give the gateway more memory', 300, [{ name: 'collector.yaml', body: gateway(1024) }]],
    ['operator', 'Print errors beside sending', 20, [{ name: 'collector.yaml', body: gateway(1024, '  debug:\n') }]],
  ]],
  ['node', 'One on every machine', [
    ['admin', 'First version', 800, [{ name: 'collector.yaml', body: node('30s') }]],
    ['admin', 'Measure more often', 90, [{ name: 'collector.yaml', body: node('10s') }]],
  ]],
  ['batch', '', [
    ['operator', 'First version', 60, [{ name: '', body: node('60s') }]],
    ['operator', 'Keep the queue on disk', 3, [{ name: '', body: `${node('60s')}extensions:\n  file_storage:\n    directory: /var/lib/otelcol\n` }]],
  ]],
  ['java', 'Sampling of the Java services', [['operator', 'First version', 50, [{ name: 'agent.properties', body: 'otel.traces.sampler=parentbased_always_on\n' }]]]],
];

const ASSIGNED = [
  { config: 'gateway', revision: 3, selector: 'service.name=otelcol-gateway' },
  { config: 'node', revision: 2, selector: 'service.name=otelcol-node' },
  { config: 'batch', revision: 2, selector: 'service.name=otelcol-batch' },
  { config: 'java', revision: 1, selector: 'service.name=billing-java' },
];

const BROKEN = 'Agent exited unexpectedly with exit code 1 while applying configuration';

/** Fills an empty mock; agents that are not there are passed over. */
export function seed(mock) {
  for (const [name, description, revisions] of PAST) {
    for (const [author, message, hours, files] of revisions) {
      if (mock.configs.all.has(name)) mock.configs.revise(name, { message, files }, author, ago(hours));
      else mock.configs.create({ name, description, message, files }, author, ago(hours));
      mock.access.audit(author, mock.configs.latest(name).number === 1 ? 'config.create' : 'config.revise', `config/${name}`, null, { revision: mock.configs.latest(name).number, message }, ago(hours));
    }
  }
  for (const plan of ASSIGNED) {
    const made = mock.rollouts.create({ ...plan, batch_percent: 100 }, 'operator');
    Object.assign(made, { state: 'done', settled: plan.revision, target: null, created_at: ago(40), updated_at: ago(2) });
    mock.access.audit('operator', 'assignment.create', `assignment/${made.id}`, null, plan, ago(40));
  }
  standings(mock);
  mock.access.views.push({ id: '1', name: 'Unhealthy in production', query: { selector: 'env=prod', q: '', state: '', health: 'unhealthy', config_state: '', config: '', sort: 'name' }, created_by: 'operator', created_at: ago(30) });
  mock.access.addToken({ label: 'dashboards', role: 'viewer', expires_in: '90d' }, mock.access.user('admin'));
  mock.access.audit('system', 'host.join', 'host/eu-1', null, { name: 'eu-1' }, ago(24 * 19));
  mock.access.audit('operator', 'host.change', 'host/eu-1', { labels: {} }, { labels: { zone: 'a' } }, ago(24 * 18));
  mock.access.audit('operator', 'host.change', 'host/eu-2', { mode: 'normal' }, { mode: 'cordoned' }, ago(1));
  mock.access.trail.sort((a, b) => b.at.localeCompare(a.at)).forEach((one, at, all) => (one.id = String(all.length - at)));
}

function standings(mock) {
  const put = (n, run, fields = {}) => {
    const found = mock.agents.get(uid(n));
    if (!found) return;
    mock.rollouts.runs.set(uid(n), { error: null, ...run });
    Object.assign(found, fields);
  };
  put(1, { config: 'gateway', revision: 3, status: 'applied' }, { labels: { env: 'prod', region: 'eu' } });
  put(3, { config: 'node', revision: 2, status: 'applied' }, { labels: { env: 'prod' } });
  put(4, { config: 'batch', revision: 2, status: 'failed', error: BROKEN }, { labels: { env: 'staging' } });
  put(5, { config: 'java', revision: 1, status: 'applying' }, { stuck: true });
  mock.rollouts.overrides.set(uid(9), { config: 'node', revision: 1 });
  put(9, { config: 'node', revision: 1, status: 'applied' }, {
    labels: { env: 'lab' },
    drift: [{ path: 'receivers.hostmetrics.collection_interval', offered: '30s', effective: '5s' }, { path: 'exporters.otlphttp', offered: 'endpoint: https://gateway.example.net', effective: null }],
  });
}
