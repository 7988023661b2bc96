// What services, deployments and plans are in words. The words for states are those of states.ts.
import type { DeployedService, Deployment, Plan, Release, Replica, Service } from './services';
import { count, number, oneLine } from './text';
import { span } from './time';

/** What a replica is called: "web-3" inside its service or project, "shop/web-3" elsewhere. */
export const replicaName = (replica: Pick<Replica, 'service' | 'number'>): string => `${replica.service}-${replica.number}`;
export const fullReplicaName = (replica: Pick<Replica, 'project' | 'service' | 'number'>): string => `${replica.project}/${replicaName(replica)}`;

export const fullName = (service: Pick<Service, 'project' | 'name'>): string => `${service.project}/${service.name}`;

/** Whether it is as it should be; a service that should have no replica is, too. */
export function isAsMeant(service: Pick<Service, 'state'>): boolean {
  return ['healthy', 'running', 'stopped'].includes(service.state);
}

/** How a service is, after its name: "is being updated". */
export function stateWords(service: Service): string {
  const some = `${number(service.ready)} of ${count(service.wanted, 'replica')}`;
  switch (service.state) {
    case 'running':
    case 'healthy': return `runs as it should, ${service.wanted === 1 ? 'with 1 replica' : `with ${number(service.wanted)} replicas`}`;
    case 'updating': return `is being updated, ${some} ready`;
    case 'degraded': return `is degraded, ${some} ready`;
    case 'failed': return service.wanted === 1 ? 'does not work: its replica is not ready' : `does not work: none of ${number(service.wanted)} replicas is ready`;
    case 'stranded': return `is stranded: ${service.waits_for ? oneLine(service.waits_for) : 'its hosts are offline'}`;
    case 'stopped': return 'is stopped, as it should be';
    default: return `is ${oneLine(service.state, 40)}`;
  }
}

const SHORT: Record<string, string> = { updating: 'is being updated', degraded: 'is degraded', failed: 'does not work', stranded: 'is stranded' };

/** "5 of 6 services run as they should; shop/web is being updated." */
export function servicesSentence(all: Service[]): string {
  if (all.length === 0) return 'There is no service yet.';
  const other = all.filter((one) => !isAsMeant(one)).sort((one, next) => urgency(one) - urgency(next));
  if (other.length === 0) return all.length === 1 ? 'The only service runs as it should.' : `All ${number(all.length)} services run as they should.`;
  const told = other.slice(0, 2).map((one) => `${fullName(one)} ${SHORT[one.state] ?? `is ${one.state}`}`);
  const more = other.length > 2 ? `, and ${number(other.length - 2)} more ${other.length === 3 ? 'does' : 'do'} not` : '';
  const good = all.length - other.length;
  return `${number(good)} of ${count(all.length, 'service')} ${good === 1 ? 'runs as it should' : 'run as they should'}; ${told.join(', ')}${more}.`;
}

function urgency(service: Service): number {
  return ['failed', 'stranded', 'degraded', 'updating'].indexOf(service.state);
}

/** The hosts on which its replicas are, each once, with whether they are connected. */
export function hostsOf(service: Service): { name: string; online: boolean }[] {
  const found = new Map(service.replicas.map((replica) => [replica.host, replica.host_online]));
  return [...found].filter(([name]) => name !== '').sort(([one], [other]) => (one < other ? -1 : 1)).map(([name, online]) => ({ name, online }));
}

/** What is known only as it was last, because hosts are away; nothing when all are here. */
export function awayWords(all: Service[]): string {
  const away = [...new Set(all.flatMap(hostsOf).filter((host) => !host.online).map((host) => host.name))];
  if (away.length === 0) return '';
  const replicas = all.reduce((sum, one) => sum + one.replicas.filter((replica) => !replica.host_online).length, 0);
  return `${away.map((host) => oneLine(host, 60)).join(', ')} ${away.length === 1 ? 'is' : 'are'} not connected: ${count(replicas, 'replica')} there ${replicas === 1 ? 'is shown as it was' : 'are shown as they were'} last.`;
}

export function isOver(deployment: Pick<Deployment, 'state'>): boolean {
  return deployment.state !== 'running' && deployment.state !== 'rolling back';
}

export function deploymentSentence(deployment: Deployment): string {
  const done = deployment.services.filter((one) => one.state === 'done').length;
  const of = `${number(done)} of ${count(deployment.services.length, 'service')} done`;
  const subject = `Deployment ${deployment.id} of ${deployment.project}`;
  switch (deployment.state) {
    case 'running': return `${subject} is running: ${of}.`;
    case 'rolling back': return `${subject} failed and is being rolled back to what ran before.`;
    case 'rolled back': return `${subject} failed and was rolled back: the services run what they ran before.`;
    case 'done': return `${subject} is done: ${count(deployment.services.length, 'service')} as it said.`;
    case 'superseded': return `${subject} was superseded: a later one took its place, ${of}.`;
    default: return `${subject} is ${oneLine(deployment.state, 40)}.`;
  }
}

/** How long it took: "1 min"; nothing while it is under way. */
export function tookWords(deployment: Pick<Deployment, 'created_at' | 'finished_at'>): string | null {
  const took = deployment.finished_at === null ? NaN : Date.parse(deployment.finished_at) - Date.parse(deployment.created_at);
  return Number.isNaN(took) ? null : span(took);
}

/** The way to a release: back, or on to a later one. */
export function toReleaseWords(to: number, current: number | null): string {
  return current === null || to < current ? `Roll back to release ${to}` : `Go to release ${to}`;
}

/** What a deployment does to a service, by its releases. */
export function stepWords({ from, to }: DeployedService): string {
  if (to === null) return from === null ? 'removed' : `release ${from} → removed`;
  return from === null || from === to ? `release ${to}` : `release ${from} → ${to}`;
}

/** The button of a plan, with its reach: "Deploy 3 services to 2 hosts". */
export function deployWords(plan: Plan): string {
  const given = plan.services.filter((one) => one.change !== 'unchanged' && one.change !== 'removed');
  const removed = plan.services.filter((one) => one.change === 'removed').length;
  const hosts = new Set(given.flatMap((one) => one.hosts)).size;
  if (given.length === 0) return removed > 0 ? `Remove ${count(removed, 'service')}` : 'Deploy';
  return `Deploy ${count(given.length, 'service')}${hosts > 0 ? ` to ${count(hosts, 'host')}` : ''}${removed > 0 ? `, remove ${number(removed)}` : ''}`;
}

/** What another number of replicas does. */
export function scaleWords(service: Service, replicas: number): string {
  const more = replicas - service.wanted;
  const what = more > 0 ? `${count(more, 'replica')} ${more === 1 ? 'is' : 'are'} started` : `${count(-more, 'replica')} ${more === -1 ? 'is' : 'are'} stopped and removed`;
  return `${fullName(service)} goes from ${number(service.wanted)} to ${count(replicas, 'replica')}: ${what}. The others stay as they are.`;
}

/** What lies between two releases: what each of them changed, the newest first. */
export function between(releases: Release[], one: number, other: number): Release[] {
  const [low, high] = [Math.min(one, other), Math.max(one, other)];
  return releases.filter((release) => release.number > low && release.number <= high);
}
