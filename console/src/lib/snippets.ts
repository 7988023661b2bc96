// What to run or write to connect an agent, for each kind. The address is that of this server. The token is given to
// agents by a variable of the environment, so that no file and no snippet but one holds it.

import { shellQuote } from './shell';

export interface Step {
  /** What to do, in words. */
  says: string;
  /** The name of the file or tool the text is for. */
  name: string;
  text: string;
}

export interface Guide {
  id: string;
  label: string;
  /** Whether it needs an enrolment token first. */
  needsToken: boolean;
  /** What this kind of agent can and cannot do here. */
  note: string;
  steps: Step[];
  /** A page of the console that does it too. */
  page?: { href: string; says: string };
}

export interface Place {
  /** The OpAMP address agents connect to, wss:// or ws://. */
  endpoint: string;
  /** Whether the server's certificate is of its own authority, which agents must be told to trust. */
  ownAuthority: boolean;
}

const CA = '/etc/otelcol/muster-ca.pem';

/** The address for agents: as the server says, or made from the address of this console. */
export function placeOf(
  overview: { opamp_endpoint: string | null; ca_fingerprint: string | null } | null,
  location: { hostname: string; protocol: string },
): Place {
  const ownAuthority = Boolean(overview?.ca_fingerprint);
  if (overview?.opamp_endpoint) return { endpoint: overview.opamp_endpoint, ownAuthority };
  const scheme = location.protocol === 'https:' ? 'wss' : 'ws';
  const host = location.hostname || 'localhost';
  return { endpoint: `${scheme}://${host}:4320/v1/opamp`, ownAuthority };
}

export function guides(place: Place): Guide[] {
  const ws = place.endpoint.replace(/^http/, 'ws');
  const http = place.endpoint.replace(/^ws/, 'http');
  const trust: Trust = ws.startsWith('ws:') ? 'none' : place.ownAuthority ? 'own' : 'system';
  return [supervisor(ws, trust), extension(ws, trust), library(ws, http, trust), host(), demo()];
}

/** Whom agents trust: nobody (no TLS), this server's own authority, or those that their system trusts. */
type Trust = 'none' | 'own' | 'system';

/** The lines that give an agent its token. */
export function tokenLines(token: string | null): string {
  return `export OPAMP_TOKEN=${token ? shellQuote(token) : '...'}\n`;
}

function trustSteps(trust: Trust): Step[] {
  if (trust !== 'own') return [];
  return [
    {
      says: "Copy the server's certificate authority to the agent's machine. It is in the server's data directory.",
      name: 'command to copy',
      text: `scp SERVER:DATA_DIR/ca.pem ${CA}`,
    },
  ];
}

function tlsLines(trust: Trust, indent: string): string {
  if (trust === 'system') return '';
  return `${indent}tls:\n${indent}  ${trust === 'own' ? `ca_file: ${CA}` : 'insecure: true'}\n`;
}

function supervisor(ws: string, trust: Trust): Guide {
  const text = `server:
  endpoint: ${ws}
  headers:
    Authorization: ["Bearer \${env:OPAMP_TOKEN}"]
${tlsLines(trust, '  ')}capabilities:
  accepts_remote_config: true
  reports_remote_config: true
  reports_effective_config: true
  reports_health: true
  reports_available_components: true
  reports_heartbeat: true
  accepts_restart_command: true
agent:
  executable: /usr/local/bin/otelcol
storage:
  directory: /var/lib/opampsupervisor
`;
  return {
    id: 'supervisor',
    label: 'Collector, supervised',
    needsToken: true,
    note: 'The supervisor runs the Collector for you and takes its configuration from this server: assign one to it and see whether it took. Restarts are not sent yet.',
    steps: [
      ...trustSteps(trust),
      { says: 'Give the supervisor this file.', name: 'supervisor.yaml', text },
      { says: 'Start it.', name: 'command to start', text: 'opampsupervisor --config supervisor.yaml' },
    ],
  };
}

function extension(ws: string, trust: Trust): Guide {
  const text = `extensions:
  opamp:
    server:
      ws:
        endpoint: ${ws}
        headers:
          Authorization: Bearer \${env:OPAMP_TOKEN}
${tlsLines(trust, '        ')}
service:
  extensions: [opamp]
`;
  return {
    id: 'extension',
    label: 'Collector, as it is',
    needsToken: true,
    note: 'Can be seen, not configured: the opamp extension accepts no configuration and no commands.',
    steps: [
      ...trustSteps(trust),
      { says: "Add this to the Collector's configuration.", name: 'otelcol.yaml', text },
      { says: 'Start it.', name: 'command to start', text: 'otelcol --config otelcol.yaml' },
    ],
  };
}

function library(ws: string, http: string, trust: Trust): Guide {
  const note = trust === 'own' ? ` Make it trust the certificate authority (${CA}).` : '';
  return {
    id: 'library',
    label: 'Your own program',
    needsToken: true,
    note: `Whatever its client library announces. Every library is given the address and an Authorization header.${note}`,
    steps: [
      ...trustSteps(trust),
      { says: 'Go: github.com/open-telemetry/opamp-go, WebSocket or HTTP.', name: 'Go', text: go(ws) },
      { says: 'Node: @elastic/opamp-client-node, HTTP.', name: 'Node', text: node(http, trust) },
      { says: 'Python: opentelemetry-opamp-client, HTTP.', name: 'Python', text: python(http, trust) },
      { says: 'Java: io.opentelemetry.contrib:opentelemetry-opamp-client, HTTP or WebSocket.', name: 'Java', text: java(http) },
    ],
  };
}

function go(ws: string): string {
  return `c := client.NewWebSocket(nil)
c.Start(ctx, types.StartSettings{
    OpAMPServerURL: "${ws}",
    Header:         http.Header{"Authorization": {"Bearer " + os.Getenv("OPAMP_TOKEN")}},
})
`;
}

function node(http: string, trust: Trust): string {
  return `const client = createOpAMPClient({
  endpoint: '${http}',
  headers: { Authorization: \`Bearer \${process.env.OPAMP_TOKEN}\` },
${trust === 'own' ? `  connect: { ca: readFileSync('${CA}') },\n` : ''}});
client.setAgentDescription({ identifyingAttributes: { 'service.name': 'my-app' } });
client.start();
`;
}

function python(http: string, trust: Trust): string {
  return `client = OpAMPClient(
    endpoint="${http}",
    headers={"Authorization": "Bearer " + os.environ["OPAMP_TOKEN"]},
${trust === 'own' ? `    tls_certificate="${CA}",\n` : ''}    agent_identifying_attributes={"service.name": "my-app"},
)
OpAMPAgent(interval=30, callbacks=Callbacks(), client=client).start()
`;
}

function java(http: string): string {
  return `OkHttpClient http = new OkHttpClient.Builder().addInterceptor(chain -> chain.proceed(
    chain.request().newBuilder().header("Authorization", "Bearer " + System.getenv("OPAMP_TOKEN")).build())).build();
OpampClient client = OpampClient.builder()
    .setRequestService(HttpRequestService.create(OkHttpSender.create("${http}", http)))
    .putIdentifyingAttribute("service.name", "my-app")
    .build(callbacks);
`;
}

function host(): Guide {
  return {
    id: 'host',
    label: 'Host',
    needsToken: false,
    note: 'A Linux machine with Docker, on which services run. Its agent is Muster itself; it connects out to this server, and a join token of its own stands in its command.',
    page: { href: '/hosts/add', says: 'Make the command for it here' },
    steps: [{ says: 'Or in a shell, where you are logged in:', name: 'command to add a host', text: 'muster hosts add' }],
  };
}

function demo(): Guide {
  return {
    id: 'demo',
    label: 'Just try it',
    needsToken: false,
    note: 'A server on this machine with one small demo agent, to see a live one at once. Nothing is kept.',
    steps: [{ says: 'Run this anywhere.', name: 'command to try it', text: `muster dev` }],
  };
}
