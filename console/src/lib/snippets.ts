// What to run or write to connect an agent, for each kind. The address is that of this server; the token is never
// known here (it is shown once, when it is made), so a placeholder stands for it.

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
  /** What this kind of agent can and cannot do here. */
  note: string;
  steps: Step[];
}

export interface Place {
  /** The OpAMP address agents connect to, wss:// or ws://. */
  endpoint: string;
}

const TOKEN = '$MUSTER_TOKEN';
const CA = '/etc/muster/ca.pem';

/** The address for agents: as the server says, or made from the address of this console. */
export function placeOf(endpoint: string | null | undefined, location: { hostname: string; protocol: string }): Place {
  if (endpoint) return { endpoint };
  const scheme = location.protocol === 'https:' ? 'wss' : 'ws';
  const host = location.hostname || 'localhost';
  return { endpoint: `${scheme}://${host}:4320/v1/opamp` };
}

export function guides(place: Place): Guide[] {
  const ws = place.endpoint.replace(/^http/, 'ws');
  const http = place.endpoint.replace(/^ws/, 'http');
  const secure = ws.startsWith('wss:');
  return [supervisor(ws, secure), extension(ws, secure), library(ws, http, secure), demo()];
}

function token(): Step {
  return {
    says: 'Make an enrolment token on the server. It is printed once; put it where the steps below say so.',
    name: 'command for a token',
    text: 'muster tokens create --label my-agents\nexport MUSTER_TOKEN=...   # the printed token',
  };
}

function tlsLines(secure: boolean, indent: string): string {
  return secure ? `${indent}tls:\n${indent}  ca_file: ${CA}\n` : `${indent}tls:\n${indent}  insecure: true\n`;
}

function supervisor(ws: string, secure: boolean): Guide {
  const text = `server:
  endpoint: ${ws}
  headers:
    Authorization: ["Bearer \${env:MUSTER_TOKEN}"]
${tlsLines(secure, '  ')}capabilities:
  accepts_remote_config: true
  reports_remote_config: true
  reports_effective_config: true
  reports_health: true
  reports_available_components: true
  accepts_restart_command: true
agent:
  executable: /usr/local/bin/otelcol
storage:
  directory: /var/lib/opampsupervisor
`;
  return {
    id: 'supervisor',
    label: 'Collector, supervised',
    note: 'Can be seen, configured and restarted from here: the supervisor runs the Collector for you.',
    steps: [
      token(),
      { says: 'Give the supervisor this file.', name: 'supervisor.yaml', text },
      { says: 'Start it.', name: 'command to start', text: 'opampsupervisor --config supervisor.yaml' },
    ],
  };
}

function extension(ws: string, secure: boolean): Guide {
  const text = `extensions:
  opamp:
    server:
      ws:
        endpoint: ${ws}
        headers:
          Authorization: Bearer \${env:MUSTER_TOKEN}
${tlsLines(secure, '        ')}
service:
  extensions: [opamp]
`;
  return {
    id: 'extension',
    label: 'Collector, as it is',
    note: 'Can be seen, not configured: the opamp extension accepts no configuration and no commands.',
    steps: [
      token(),
      { says: "Add this to the Collector's configuration.", name: 'otelcol.yaml', text },
      { says: 'Start it.', name: 'command to start', text: 'otelcol --config otelcol.yaml' },
    ],
  };
}

function library(ws: string, http: string, secure: boolean): Guide {
  const note = secure ? ` Trust this server's certificate authority (${CA}).` : '';
  return {
    id: 'library',
    label: 'Your own program',
    note: `Whatever its client library announces. Every library is given the address and an Authorization header.${note}`,
    steps: [
      token(),
      { says: 'Go: github.com/open-telemetry/opamp-go, WebSocket or HTTP.', name: 'Go', text: go(ws) },
      { says: 'Node: @elastic/opamp-client-node, HTTP.', name: 'Node', text: node(http) },
      { says: 'Python: opentelemetry-opamp-client, HTTP.', name: 'Python', text: python(http, secure) },
      { says: 'Java: io.opentelemetry.contrib:opentelemetry-opamp-client, HTTP or WebSocket.', name: 'Java', text: java(http) },
    ],
  };
}

function go(ws: string): string {
  return `c := client.NewWebSocket(nil)
c.Start(ctx, types.StartSettings{
    OpAMPServerURL: "${ws}",
    Header:         http.Header{"Authorization": {"Bearer " + os.Getenv("MUSTER_TOKEN")}},
})
`;
}

function node(http: string): string {
  return `const client = createOpAMPClient({
  endpoint: '${http}',
  headers: { Authorization: \`Bearer \${process.env.MUSTER_TOKEN}\` },
});
client.setAgentDescription({ identifyingAttributes: { 'service.name': 'my-app' } });
client.start();
`;
}

function python(http: string, secure: boolean): string {
  return `client = OpAMPClient(
    endpoint="${http}",
    headers={"Authorization": "Bearer " + os.environ["MUSTER_TOKEN"]},
${secure ? `    tls_certificate="${CA}",\n` : ''}    agent_identifying_attributes={"service.name": "my-app"},
)
OpAMPAgent(interval=30, callbacks=Callbacks(), client=client).start()
`;
}

function java(http: string): string {
  return `OkHttpClient http = new OkHttpClient.Builder().addInterceptor(chain -> chain.proceed(
    chain.request().newBuilder().header("Authorization", "Bearer " + System.getenv("MUSTER_TOKEN")).build())).build();
OpampClient client = OpampClient.builder()
    .setRequestService(HttpRequestService.create(OkHttpSender.create("${http}", http)))
    .putIdentifyingAttribute("service.name", "my-app")
    .build(callbacks);
`;
}

function demo(): Guide {
  return {
    id: 'demo',
    label: 'Just try it',
    note: 'A server on this machine with one small demo agent, to see a live one at once. Nothing is kept.',
    steps: [{ says: 'Run this anywhere.', name: 'command to try it', text: `muster dev` }],
  };
}

/** The token's name in the snippets, for the text around them. */
export const TOKEN_NAME = TOKEN;
