// A handful of made-up agents, as varied as real ones: every state, both transports, missing reports, odd types, a
// hostile name, a replacement. Used by server.mjs only; nothing here reaches the product.

const HOSTILE = `'><img src=x onerror="document.title='owned'">\u202egnp.exe`;

const ALL = [
  'ReportsStatus', 'AcceptsRemoteConfig', 'ReportsEffectiveConfig', 'AcceptsPackages', 'ReportsPackageStatuses', 'ReportsOwnTraces',
  'ReportsOwnMetrics', 'ReportsOwnLogs', 'AcceptsOpAMPConnectionSettings', 'AcceptsOtherConnectionSettings', 'AcceptsRestartCommand',
  'ReportsHealth', 'ReportsRemoteConfig', 'ReportsHeartbeat', 'ReportsAvailableComponents', 'ReportsConnectionSettingsStatus',
];
const EXTENSION = ['ReportsStatus', 'ReportsEffectiveConfig', 'ReportsHealth', 'ReportsAvailableComponents'];
/** Why the Collector's opamp extension cannot be configured, as the server says it. */
export const EXTENSION_REASON = "this agent is the Collector's opamp extension: it can be seen, not configured; run it under the supervisor to configure it";
const SUPERVISED = [...EXTENSION, 'AcceptsRemoteConfig', 'ReportsRemoteConfig', 'AcceptsRestartCommand', 'ReportsHeartbeat'];

const CONFIG = `extensions:
  opamp:
    server:
      ws:
        endpoint: wss://muster.internal:4320/v1/opamp
        headers:
          Authorization: "[masked]"
  health_check:
    endpoint: 127.0.0.1:13133
receivers:
  otlp:
    protocols:
      grpc:
        endpoint: 0.0.0.0:4317
      http:
        endpoint: 0.0.0.0:4318
  hostmetrics:
    collection_interval: 10s
    scrapers:
      cpu:
      memory:
      filesystem:
        exclude_mount_points:
          match_type: regexp
          mount_points: [^/proc, ^/sys, ^/var/lib/docker]
processors:
  memory_limiter:
    check_interval: 1s
    limit_mib: 512
  batch:
    send_batch_size: 8192
    timeout: 200ms
  resource:
    attributes:
      - key: deployment.environment
        value: production
        action: upsert
exporters:
  otlphttp/backend:
    endpoint: https://telemetry.example.net
    headers:
      - name: Authorization
        value: "[masked]"
    sending_queue:
      queue_size: 5000
  debug:
service:
  extensions: [opamp, health_check]
  telemetry:
    metrics:
      level: basic
  pipelines:
    metrics:
      receivers: [hostmetrics, otlp]
      processors: [memory_limiter, resource, batch]
      exporters: [otlphttp/backend]
    traces:
      receivers: [otlp]
      processors: [memory_limiter, resource, batch]
      exporters: [otlphttp/backend]
    logs:
      receivers: [otlp]
      processors: [memory_limiter, batch]
      exporters: [otlphttp/backend, debug]
`;

const BUILT = { metadata: [{ key: 'version', type: 'string', value: 'v0.149.0' }], components: {} };
const COMPONENTS = {
  receivers: { components: { otlp: BUILT, hostmetrics: BUILT } },
  processors: { components: { batch: BUILT, memory_limiter: BUILT } },
  exporters: { components: { otlphttp: BUILT, debug: BUILT } },
};

const iso = (ms) => new Date(ms).toISOString();
const text = (key, value) => ({ key, type: 'string', value });

function health(healthy, at) {
  const good = (status) => ({ healthy: true, status, last_error: '', start_time: null, status_time: iso(at), components: {} });
  const exporter = healthy
    ? good('StatusOK')
    : { healthy: false, status: 'StatusRecoverableError', last_error: 'export failed: 429 Too Many Requests from https://telemetry.example.net', start_time: null, status_time: iso(at), components: {} };
  return {
    healthy, status: healthy ? 'StatusOK' : 'StatusRecoverableError', last_error: '', start_time: iso(at - 86_400_000), status_time: iso(at),
    components: {
      'pipeline:metrics': { ...good('StatusOK'), components: { 'receiver:hostmetrics': good('StatusOK'), 'processor:batch': good('StatusOK') } },
      'pipeline:traces': { ...good('StatusOK'), healthy, components: { 'receiver:otlp': good('StatusOK'), 'exporter:otlphttp/backend': exporter } },
      extensions: { ...good('StatusOK'), components: { 'extension:opamp': good('StatusOK'), 'extension:health_check': good('StatusOK') } },
    },
  };
}

/** A full agent as GET /agents/{uid} gives it; `over` says what is special about this one. */
export function agent(n, over = {}) {
  const now = Date.now();
  const name = over.name ?? `agent-${n}`;
  const host = over.host === undefined ? `host-${String(n).padStart(2, '0')}.eu.example.net` : over.host;
  const capabilities = over.capabilities ?? SUPERVISED;
  const reports = (what) => capabilities.includes(what);
  const version = over.version === undefined ? '0.149.0' : over.version;
  const uid = `0195f0a0-7d0c-7cc0-8000-${n.toString(16).padStart(12, '0')}`;
  const healthy = over.healthy === undefined ? true : over.healthy;
  return {
    instance_uid: uid, name, namespace: null, version, instance_id: uid, host, os: 'linux', state: 'connected', transport: 'websocket',
    peer_address: `10.20.${n % 250}.17:5${String(1000 + n)}`, connected_since: iso(now - 3_600_000 * (n % 40 + 1)), last_seen: iso(now - 1000 * (n % 20)),
    healthy, health_status: healthy === null ? null : healthy ? 'StatusOK' : 'StatusRecoverableError',
    remote_config: reports('ReportsRemoteConfig') ? { status: 'applied', error: null } : null,
    capabilities, replaced_by: null, replaces: null, labels: {}, drift: null,
    description: {
      identifying: [text('service.name', name), text('service.version', version ?? ''), text('service.instance.id', uid)],
      non_identifying: [
        text('host.name', host ?? ''), text('os.type', 'linux'), text('os.description', 'Debian GNU/Linux 12 (bookworm)'), text('host.arch', 'amd64'),
        { key: 'process.pid', type: 'int', value: String(4000 + n) }, { key: 'feature.enabled', type: 'bool', value: true },
        { key: 'load.share', type: 'double', value: 0.25 }, { key: 'zones', type: 'array', value: ['eu-1a', 'eu-1b'] },
        { key: 'labels', type: 'map', value: { team: 'platform', tier: 1 } },
      ],
    },
    capability_bits: '0', unknown_capability_bits: '0',
    health: healthy === null ? null : health(healthy, now - 60_000),
    effective_config: reports('ReportsEffectiveConfig')
      ? { hash: '9f86d081884c7d65', files: [{ name: '', content_type: 'text/yaml', body: CONFIG, redacted: true, encoding: 'utf8' }] }
      : null,
    components: reports('ReportsAvailableComponents') ? { hash: 'c0ffee', tree: COMPONENTS } : null,
    package_statuses: null, connection_settings_status: null, custom_capabilities: [],
    remote_config_status: reports('ReportsRemoteConfig') ? { hash: '2c26b46b68ffc68ff99b453c1d304134', status: 'applied', error: null } : null,
    sequence_num: 40 + n, enrolled_at: iso(now - 86_400_000 * 3), credential: { id: 1, label: 'eu-collectors' }, first_seen: iso(now - 86_400_000 * 3),
    ...over.fields,
  };
}

/** The fleet that the mock starts with. */
export function fleet(extra = 0) {
  const old = iso(Date.now() - 86_400_000 * 2);
  const failed = 'Agent exited unexpectedly with exit code 1 while applying configuration';
  const agents = [
    agent(1, { name: 'otelcol-gateway', fields: { namespace: 'edge' } }),
    agent(2, { name: 'otelcol-node', capabilities: EXTENSION }),
    agent(3, { name: 'otelcol-node', healthy: false, capabilities: SUPERVISED }),
    agent(4, {
      name: 'otelcol-batch', fields: { remote_config: { status: 'failed', error: failed }, remote_config_status: { hash: 'ab12', status: 'failed', error: failed } },
    }),
    agent(5, {
      name: 'billing-java', version: '2.7.1', healthy: null, capabilities: ['AcceptsRemoteConfig', 'ReportsEffectiveConfig', 'ReportsRemoteConfig'],
      fields: { transport: 'http', remote_config: { status: 'applying', error: null }, effective_config: { hash: '00', files: [{ name: 'agent.properties', content_type: 'text/plain', body: 'otel.traces.sampler=parentbased_always_on\n', redacted: false, encoding: 'utf8' }, { name: 'keystore.p12', content_type: 'application/octet-stream', body: 'AAECAwQFBgcICQ==', redacted: false, encoding: 'base64' }] } },
    }),
    agent(6, { name: 'shop-node', version: '1.12.0', healthy: null, capabilities: ['ReportsStatus', 'AcceptsRemoteConfig', 'ReportsRemoteConfig', 'ReportsHeartbeat'], fields: { transport: 'http', state: 'silent', last_seen: iso(Date.now() - 150_000), remote_config: null, remote_config_status: null } }),
    agent(7, { name: 'report-python', version: null, host: null, healthy: null, capabilities: ['ReportsStatus'], fields: { transport: 'http', state: 'disconnected', connected_since: null, last_seen: old, os: null } }),
    agent(8, { name: HOSTILE, host: '<b>host</b>', version: '1.0"; DROP TABLE', fields: { namespace: '<script>1</script>', health_status: '<i>fine</i>' } }),
    agent(9, {
      name: 'edge-full', capabilities: ALL, fields: {
        unknown_capability_bits: '196608', custom_capabilities: ['net.example.pause', 'net.example.trace'],
        package_statuses: { all_packages_hash: 'c0ffee', error: null, packages: { 'edge-agent': { agent_has_version: '1.2.0', server_offered_version: '1.3.0', status: 'installing', error: null, download_percent: 40 } } },
        connection_settings_status: { hash: 'beef', status: 'applied', error: null },
      },
    }),
    agent(10, { name: 'otelcol-vm', fields: { replaces: agent(11).instance_uid } }),
    agent(11, { name: 'otelcol-vm', host: agent(10).host, fields: { state: 'disconnected', last_seen: old, connected_since: null, replaced_by: agent(10).instance_uid } }),
  ];
  for (let n = 12; n < 12 + extra; n += 1) agents.push(agent(n, { name: `worker-${String(n).padStart(4, '0')}`, fields: { labels: { tier: 'worker' } } }));
  return agents;
}
