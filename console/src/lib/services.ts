// Services and their replicas as the API has them.
import { api } from './api';

export interface Replica {
  id: string;
  /** Its container's name. */
  name: string;
  project: string;
  service: string;
  number: number;
  state: 'starting' | 'healthy' | 'unhealthy' | 'stopped' | 'failed' | 'stranded';
  phase: 'starting' | 'serving' | 'draining' | 'removing';
  /** The host's name. */
  host: string;
  /** Else all this is as it was last. */
  host_online: boolean;
  release: number;
  container: string | null;
  addresses: string[];
  restarts: number;
  started_at: string | null;
  exit_code: number | null;
  reason: string | null;
  /** What it printed last when it failed. */
  last_lines: string[];
}

export interface Service {
  id: string;
  project: string;
  name: string;
  state: 'healthy' | 'degraded' | 'failed' | 'updating' | 'stopped';
  image: string;
  release: number | null;
  wanted: number;
  ready: number;
  ports: string[];
  replicas: Replica[];
}

export const services = {
  list: (): Promise<{ items: Service[] }> => api.get('/services'),
};
