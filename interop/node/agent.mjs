// A small agent on @elastic/opamp-client-node (plain HTTP only): remote config and its status.
// How it talks to the tests: ../README.md, "How the programs talk". No health: the library has none.
//
//   node agent.mjs --url http://127.0.0.1:4320/v1/opamp [--token T] [--ca FILE] [--interval SECONDS] [--name NAME]
import { readFileSync } from 'node:fs';
import { subscribe } from 'node:diagnostics_channel';
import { hostname } from 'node:os';
import { parseArgs } from 'node:util';
import {
  AgentCapabilities, createOpAMPClient, DIAG_CH_SEND_FAIL, DIAG_CH_SEND_SUCCESS, RemoteConfigStatuses,
} from '@elastic/opamp-client-node';

const { values: options } = parseArgs({
  options: {
    url: { type: 'string' },
    token: { type: 'string' },
    ca: { type: 'string' },
    interval: { type: 'string', default: '30' },
    name: { type: 'string', default: 'nodeagent' },
  },
});
const say = (event, more = {}) => console.log(JSON.stringify({ event, ...more }));
const hex = (bytes) => Buffer.from(bytes).toString('hex');

let connected = false;
subscribe(DIAG_CH_SEND_SUCCESS, () => {
  if (!connected) say('connected');
  connected = true;
});
subscribe(DIAG_CH_SEND_FAIL, ({ err }) => {
  connected = false;
  say('connect_failed', { error: String(err?.message ?? err) });
});

const client = createOpAMPClient({
  endpoint: options.url,
  headers: options.token ? { authorization: `Bearer ${options.token}` } : {},
  heartbeatIntervalSeconds: Number(options.interval),
  capabilities: AgentCapabilities.AgentCapabilities_AcceptsRemoteConfig | AgentCapabilities.AgentCapabilities_ReportsRemoteConfig,
  connect: options.ca ? { ca: readFileSync(options.ca) } : undefined,
  diagEnabled: true,
  onMessage: ({ remoteConfig }) => {
    if (!remoteConfig) return;
    const failed = Object.values(remoteConfig.config.configMap).some((file) => Buffer.from(file.body).includes('fail'));
    client.setRemoteConfigStatus({
      lastRemoteConfigHash: remoteConfig.configHash,
      status: failed ? RemoteConfigStatuses.RemoteConfigStatuses_FAILED : RemoteConfigStatuses.RemoteConfigStatuses_APPLIED,
      errorMessage: failed ? 'told to fail' : '',
    });
    say('remote_config', { hash: hex(remoteConfig.configHash), status: failed ? 'failed' : 'applied' });
  },
});
client.setAgentDescription({
  identifyingAttributes: {
    'service.name': options.name, 'service.version': '1.0.0', 'service.instance.id': `${options.name}-${process.pid}`,
  },
  nonIdentifyingAttributes: { 'os.type': 'linux', 'host.name': hostname(), 'process.pid': process.pid },
});
client.start();

// The library's own timers do not keep a process alive.
const alive = setInterval(() => {}, 1 << 30);
process.on('SIGTERM', async () => {
  await client.shutdown();
  clearInterval(alive);
  say('stopped');
  process.exit(0);
});
