// Elastic's mock OpAMP server (plain HTTP only) on a port of the kernel's choice, for tests of our client.
// Prints {"event":"listening","url":…}, then one line per request: {"event":"message","status":200,"a2s":…,"offered":…}.
// Each line on stdin becomes the offered configuration: {"name":"body", …}. SIGTERM ends it.
//
//   node mockserver.mjs [--port PORT] [--bad server_error_response_unavailable]
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import mock from '@elastic/mockopampserver';

const { values: options } = parseArgs({
  options: { port: { type: 'string', default: '0' }, bad: { type: 'string' } },
});
const plain = (_key, value) => {
  if (typeof value === 'bigint') return String(value);
  if (value?.type === 'Buffer') return Buffer.from(value.data).toString('hex');
  return value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value;
};
const say = (line) => console.log(JSON.stringify(line, plain));

const server = new mock.MockOpAMPServer({
  logLevel: 'fatal', hostname: '127.0.0.1', port: Number(options.port), testMode: true, badMode: options.bad,
});
await server.start();
say({ event: 'listening', url: server.endpoint });

// The server keeps its requests in a list and tells nobody of new ones.
let told = 0;
const tell = () => {
  const all = server.testGetRequests();
  for (const { res, a2s, s2a, err } of all.slice(told)) {
    say({ event: 'message', status: res?.statusCode, a2s, flags: s2a?.flags, offered: Boolean(s2a?.remoteConfig), error: err?.message });
  }
  told = all.length;
};
setInterval(tell, 20);
createInterface({ input: process.stdin }).on('line', (line) => {
  const configMap = {};
  for (const [name, body] of Object.entries(JSON.parse(line))) configMap[name] = { body: Buffer.from(body), contentType: 'text/yaml' };
  server.setAgentConfigMap({ configMap });
});
process.on('SIGTERM', () => {
  tell();
  process.exit(0);
});
