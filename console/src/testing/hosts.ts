// Hosts for component tests: a plain one, to be changed where a test needs it.
import type { Host, JoinToken } from '../lib/hosts';
import type { Replica } from '../lib/services';

const GIB = 2 ** 30;

export function host(over: Partial<Host> = {}): Host {
  return {
    id: 'hst_1', name: 'one', state: 'online', since: '2026-11-30T02:15:00.000Z', mode: 'normal', adopting: false, labels: {}, allowed_paths: [], mesh_ip: '10.98.0.2', address: '192.0.2.7',
    agent_version: '0.1.0', os: 'Debian GNU/Linux 13', kernel: '6.12.48', arch: 'x86_64', cpus: 4, memory_bytes: 16 * GIB, memory_available_bytes: 4 * GIB, cpu_used: 0.25,
    disk_total_bytes: 100 * GIB, disk_free_bytes: 40 * GIB, engine: '29.1.3', replicas: 2, ready: 2, generation: 7, in_sync: true, problems: [], machine_id: '4c1d5ae07b9f4e22', clock_skew_ms: 3,
    joined_at: '2026-11-20T03:00:00.000Z', last_seen: '2026-11-30T03:14:56.000Z',
    ...over,
  };
}

export function joinToken(over: Partial<JoinToken> = {}): JoinToken {
  return {
    id: '4', state: 'waiting', host_name: '', for_host: null, created_by: 'olga', created_at: '2026-11-30T03:00:00.000Z', expires_at: '2026-11-30T04:00:00.000Z', used_at: null, used_by: null, ...over,
  };
}

export function replica(over: Partial<Replica> = {}): Replica {
  return {
    id: 'rep_1', name: 'shop-web-1', project: 'shop', service: 'web', number: 1, state: 'healthy', phase: 'serving', host: 'one', host_online: true, release: 3, container: null, addresses: [], restarts: 0,
    started_at: '2026-11-30T02:00:00.000Z', exit_code: null, reason: null, last_lines: [], ...over,
  };
}
