// The mock's lines of replicas: some from before, and what the remote control prints; followed as lines of JSON.

const PATHS = ['/', '/cart', '/item/41', '/item/7', '/checkout', '/healthz'];
/** So many lines each replica has from before. */
const PAST = 40;

export class Logs {
  constructor(mock) {
    this.mock = mock;
    this.lines = [];
    this.open = new Set();
    const begun = Date.now() - PAST * 3000;
    for (const { services } of mock.services.projects.values()) {
      for (const { replicas } of services) replicas.forEach((one, at) => this.#seed(one, begun + at * 700));
    }
    this.lines.sort((one, other) => one.at.localeCompare(other.at));
  }

  #seed(replica, begun) {
    for (let number = 0; number < PAST; number += 1) this.lines.push(this.#line(replica, said(replica, number), number % 13 === 12 ? 'err' : 'out', new Date(begun + number * 3000)));
  }

  #line({ project, service, number, host }, text, stream, at) {
    return { at: at.toISOString().replace('Z', '000Z'), replica: `${service}-${number}`, host, stream, text, project, service };
  }

  /** A replica prints something now. */
  print(project, service, number, text, stream = 'out') {
    const replica = this.mock.services.service(project, service).replicas.find((one) => one.number === number);
    const line = this.#line(replica, text, stream, new Date());
    this.lines.push(line);
    for (const one of this.open) if (wants(one, line)) one.response.write(`${JSON.stringify(plain(line))}\n`);
  }

  /** For people who look at the mock by hand. */
  chatter() {
    for (const { project, service } of this.open) {
      const { replicas } = this.mock.services.service(project, service);
      const one = replicas[Math.floor(Math.random() * replicas.length)];
      if (one) this.print(project, service, one.number, said(one, Math.floor(Math.random() * 1000)));
    }
  }

  /** All streams break. */
  cut() {
    for (const { response } of this.open) response.destroy();
  }

  follow(request, response, project, service, query) {
    const { replicas } = this.mock.services.service(project, service);
    const one = { response, project, service, contains: query.get('contains') ?? '', since: query.get('since') ?? '' };
    response.writeHead(200, { 'content-type': 'application/x-ndjson', 'cache-control': 'no-store', date: new Date().toUTCString() });
    const here = (line) => wants(one, line) && line.at >= one.since && replicas.some((it) => it.host_online && `${service}-${it.number}` === line.replica);
    for (const line of this.lines.filter(here).slice(-Number(query.get('limit') ?? 100))) response.write(`${JSON.stringify(plain(line))}\n`);
    for (const away of replicas.filter((it) => !it.host_online)) response.write(`${JSON.stringify({ note: 'a host is not connected', host: away.host })}\n`);
    response.write('\n');
    this.open.add(one);
    request.on('close', () => this.open.delete(one));
  }
}

const wants = (one, line) => line.project === one.project && line.service === one.service && line.text.includes(one.contains);
const plain = ({ project: _, service: __, ...line }) => line;

function said({ service, number: replica }, number) {
  if (service === 'db') return number % 5 === 0 ? 'LOG:  checkpoint complete: wrote 42 buffers (0.3%)' : `LOG:  duration: ${(number * 7) % 31}.204 ms  statement: select * from item where id = ${number}`;
  if (service === 'worker') return `job ${1000 + number * 3 + replica}: ${number % 13 === 12 ? 'failed: timeout after 30 s, will be tried again' : `done in ${(number * 17) % 90} ms`}`;
  return `10.98.0.${replica} "GET ${PATHS[number % PATHS.length]} HTTP/1.1" ${number % 13 === 12 ? 502 : 200} ${(number * 137) % 9000}`;
}

/** Lines once, as without `follow`. */
export function lastLines(mock, project, service, query) {
  const { replicas } = mock.services.service(project, service);
  const found = mock.logs.lines.filter((line) => line.project === project && line.service === service && line.text.includes(query.get('contains') ?? ''));
  const away = [...new Set(replicas.filter((one) => !one.host_online).map((one) => one.host))];
  return { items: found.slice(-Number(query.get('limit') ?? 100)).map(plain), missing: away.map((host) => `${host} is not connected: its lines are missing`) };
}
