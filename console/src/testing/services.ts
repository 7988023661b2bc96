// Services and deployments for component tests: plain ones, to be changed where a test needs it.
import type { Deployment, Release, Replica, Service } from '../lib/services';

export function replica(over: Partial<Replica> = {}): Replica {
  return {
    id: 'rep_1', name: 'shop-web-1', project: 'shop', service: 'web', number: 1, state: 'healthy', phase: 'serving', host: 'eu-1', host_online: true, release: 3,
    container: '9f1c02ab77de', addresses: ['10.208.0.9'], restarts: 0, started_at: '2026-11-30T02:15:00.000Z', exit_code: null, reason: null, last_lines: [], ...over,
  };
}

export function service(over: Partial<Service> = {}): Service {
  return { id: 'svc_1', project: 'shop', name: 'web', state: 'healthy', image: 'nginx:1.29', release: 3, wanted: 1, ready: 1, waits_for: null, ports: ['8080/tcp → 80'], volumes: [], replicas: [replica()], ...over };
}

export function release(number: number, over: Partial<Release> = {}): Release {
  return { number, image: `nginx:1.2${number}`, current: false, served: true, author: 'olga', message: '', created_at: '2026-11-30T03:00:00.000Z', changes: [`image nginx:1.2${number - 1} → nginx:1.2${number}`], ...over };
}

export function deployment(over: Partial<Deployment> = {}): Deployment {
  return {
    id: '7', project: 'shop', state: 'running', reason: null, created_by: 'olga', message: 'new version', created_at: '2026-11-30T03:00:00.000Z', finished_at: null,
    services: [{ name: 'web', from: 2, to: 3, state: 'waiting', reason: null, waits_for: 'replica 2 to be ready', ready: 1, wanted: 2 }], ...over,
  };
}
