// Hosts, join tokens and what runs on hosts as the API has them, with the calls. The words about them are in host-words.ts.
import { api, type Tagged } from './api';
import type { Replica, Service } from './services';

export interface Host {
  id: string;
  name: string;
  /** Joining: it has never connected. */
  state: 'online' | 'offline' | 'joining';
  /** Since when it is so; null: it never connected. */
  since: string | null;
  mode: 'normal' | 'cordoned';
  /** It removes nothing until somebody ends that: the server was restored from a back-up. */
  adopting: boolean;
  labels: Record<string, string>;
  /** Paths of it that containers may see. */
  allowed_paths: string[];
  mesh_ip: string;
  /** From where it is connected. */
  address: string | null;
  agent_version: string;
  os: string;
  kernel: string;
  arch: string;
  cpus: number;
  memory_bytes: number;
  memory_available_bytes: number | null;
  /** 0 to 1. */
  cpu_used: number | null;
  /** The disk of the engine. */
  disk_total_bytes: number;
  disk_free_bytes: number;
  /** null: none answers. */
  engine: string | null;
  /** How many replicas it should have, and how many of them work. */
  replicas: number;
  ready: number;
  /** The state that it applied last, and whether that is what it was told last. */
  generation: number;
  in_sync: boolean;
  /** One sentence each, the worst first. */
  problems: string[];
  /** An OpAMP agent with this `host.id` lives there. */
  machine_id: string;
  clock_skew_ms: number | null;
  joined_at: string;
  last_seen: string | null;
}

export interface HostLogLine {
  at: string;
  level: string;
  source: string;
  text: string;
}

export interface JoinToken {
  id: string;
  state: 'waiting' | 'used' | 'expired' | 'revoked';
  /** Empty: its hostname. */
  host_name: string;
  /** The host whose place a machine takes. */
  for_host: string | null;
  created_by: string;
  created_at: string;
  expires_at: string;
  used_at: string | null;
  used_by: string | null;
}

/** A join token just made; its text and the command with it are in this answer and nowhere else. */
export interface CreatedJoinToken extends JoinToken {
  token: string;
  command: string;
}

/** What is changed; what is absent stays. */
export type HostChange = Partial<Pick<Host, 'name' | 'labels' | 'mode' | 'allowed_paths' | 'adopting'>>;

export const hostPath = (host: string): string => `/hosts/${encodeURIComponent(host)}`;

export const hosts = {
  list: (): Promise<{ items: Host[] }> => api.get('/hosts'),
  get: (host: string): Promise<Tagged<Host>> => api.tagged(hostPath(host)),
  change: (host: string, change: HostChange, etag: string | null): Promise<Tagged<Host>> => api.write('PATCH', hostPath(host), change, etag),
  remove: (host: string): Promise<Tagged<void>> => api.write('DELETE', hostPath(host)),
  log: (host: string, limit: number): Promise<{ items: HostLogLine[] }> => api.get(`${hostPath(host)}/log?limit=${limit}`),
  tokens: (): Promise<{ items: JoinToken[] }> => api.get('/join-tokens'),
  addToken: async (name: string, seconds: number, inPlaceOf: string): Promise<CreatedJoinToken> => {
    const whose = inPlaceOf ? { for_host: inPlaceOf } : name ? { host_name: name } : {};
    return (await api.write<CreatedJoinToken>('POST', '/join-tokens', { ...whose, expires_in_seconds: seconds })).value;
  },
  revokeToken: (id: string): Promise<Tagged<void>> => api.write('DELETE', `/join-tokens/${encodeURIComponent(id)}`),
  /** What is meant to run, or still runs, on a host. */
  replicas: async (name: string): Promise<Replica[]> => {
    const { items } = await api.get<{ items: Service[] }>('/services');
    return items.flatMap((service) => service.replicas).filter((replica) => replica.host === name);
  },
};
