// Projects, services, deployments, secrets and registries as the API has them: shapes and calls. Pages hold no addresses of calls.
import { api, type Tagged } from './api';

export interface Replica {
  id: string;
  /** Its container's name. */
  name: string;
  project: string;
  service: string;
  number: number;
  state: 'starting' | 'healthy' | 'running' | 'unhealthy' | 'stopped' | 'failed' | 'stranded';
  phase: 'starting' | 'serving' | 'draining' | 'removing';
  /** The host's name. */
  host: string;
  /** Whether its host is connected: else all this is as it was last. */
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
  state: 'healthy' | 'running' | 'degraded' | 'failed' | 'stranded' | 'updating' | 'stopped';
  image: string;
  /** The number of the release that it runs; null: none yet. */
  release: number | null;
  wanted: number;
  ready: number;
  /** Why fewer are ready than wanted, as far as that is known. */
  waits_for: string | null;
  /** As `8080/tcp → 80`. */
  ports: string[];
  /** Names of the volumes that its replicas share. */
  volumes: string[];
  replicas: Replica[];
}

export interface DeployedService {
  name: string;
  from: number | null;
  /** null: it is removed. */
  to: number | null;
  state: 'waiting' | 'done' | 'failed';
  reason: string | null;
  waits_for: string | null;
  ready: number;
  wanted: number;
}

export interface Deployment {
  id: string;
  project: string;
  state: 'running' | 'rolling back' | 'done' | 'rolled back' | 'superseded';
  reason: string | null;
  services: DeployedService[];
  created_by: string;
  message: string;
  created_at: string;
  finished_at: string | null;
}

export interface Project {
  name: string;
  services: Service[];
  /** The one that is under way. */
  deployment: Deployment | null;
  volumes: { name: string; host: string; used: boolean }[];
  created_at: string;
}

export interface Release {
  number: number;
  image: string;
  current: boolean;
  /** Whether a deployment brought the service to it. */
  served: boolean;
  author: string;
  message: string;
  created_at: string;
  /** What is another than in the release before. */
  changes: string[];
}

export interface PlannedService {
  name: string;
  change: 'new' | 'changed' | 'scaled' | 'unchanged' | 'removed';
  changes: string[];
  replicas_before: number;
  replicas_after: number;
  update: string;
  hosts: string[];
}

export interface Plan {
  project: string;
  services: PlannedService[];
  warnings: string[];
  /** Why it would not begin; empty: it would. */
  refusals: string[];
  text: string[];
}

/** What is deployed: Compose files and what they refer to. */
export interface Wish {
  files: { name: string; text: string }[];
  variables: Record<string, string>;
  env_files: Record<string, string>;
  /** Contents by path, in base64. */
  secret_files: Record<string, string>;
  config_files: Record<string, string>;
  message: string;
  force: boolean;
}

export interface ProjectSecret {
  name: string;
  version: number;
  size_bytes: number;
  used_by: string[];
  created_by: string;
  created_at: string;
}

export interface Registry {
  registry: string;
  username: string;
  created_by: string;
  created_at: string;
}

type Items<T> = { items: T[] };
const part = encodeURIComponent;

export const projectPath = (name: string): string => `/projects/${part(name)}`;
export const servicePath = (project: string, name: string): string => `/services/${part(project)}/${part(name)}`;
export const deploymentPath = (id: string): string => `/deployments/${part(id)}`;

export const services = {
  list: (): Promise<Items<Service>> => api.get('/services'),
  projects: async (): Promise<Project[]> => (await api.get<Items<Project>>('/projects')).items,
  project: (name: string): Promise<Project> => api.get(projectPath(name)),
  get: (project: string, name: string): Promise<Service> => api.get(servicePath(project, name)),
  releases: async (project: string, name: string): Promise<Release[]> => (await api.get<Items<Release>>(`${servicePath(project, name)}/releases`)).items,
  plan: async (project: string, wish: Wish): Promise<Plan> => (await api.write<Plan>('POST', `${projectPath(project)}/plan`, wish)).value,
  /** The deployment, or nothing when all is as it should be already; so for all that begin one. */
  deploy: (project: string, wish: Wish): Promise<Tagged<Deployment | undefined>> => api.write('POST', `${projectPath(project)}/deployments`, wish),
  scale: (project: string, name: string, replicas: number): Promise<Tagged<Deployment | undefined>> => api.write('POST', `${servicePath(project, name)}/scale`, { replicas }),
  rollBack: (project: string, name: string, to: number, message: string): Promise<Tagged<Deployment | undefined>> =>
    api.write('POST', `${servicePath(project, name)}/rollback`, { to, message }),
  remove: (project: string, name: string): Promise<Tagged<Deployment | undefined>> => api.write('DELETE', servicePath(project, name)),
  removeProject: (name: string, volumes: boolean): Promise<Tagged<Deployment | undefined>> => api.write('DELETE', `${projectPath(name)}${volumes ? '?volumes=true' : ''}`),
  deployments: (query: { project?: string; before?: string; limit?: string }): Promise<{ items: Deployment[]; next: string | null }> =>
    api.get(`/deployments?${new URLSearchParams(Object.entries(query).filter(([, value]) => value !== ''))}`),
  deployment: (id: string): Promise<Deployment> => api.get(deploymentPath(id)),
  abort: (id: string): Promise<Tagged<Deployment>> => api.write('POST', `${deploymentPath(id)}/abort`),
  secrets: async (project: string): Promise<ProjectSecret[]> => (await api.get<Items<ProjectSecret>>(`${projectPath(project)}/secrets`)).items,
  setSecret: (project: string, name: string, content: Uint8Array): Promise<Tagged<void>> =>
    api.write('PUT', `${projectPath(project)}/secrets/${part(name)}`, { content: base64(content) }),
  removeSecret: (project: string, name: string): Promise<Tagged<void>> => api.write('DELETE', `${projectPath(project)}/secrets/${part(name)}`),
  registries: async (): Promise<Registry[]> => (await api.get<Items<Registry>>('/registries')).items,
  setRegistry: (registry: string, username: string, password: string): Promise<Tagged<void>> => api.write('PUT', '/registries', { registry, username, password }),
  removeRegistry: (registry: string): Promise<Tagged<void>> => api.write('DELETE', `/registries/${part(registry)}`),
};

/** Names of projects, services and secrets become names of DNS. */
export function isName(text: string): boolean {
  return text.length <= 55 && /^[a-z0-9]([a-z0-9_-]*[a-z0-9])?$/.test(text);
}
export const NAME_RULE = 'A name has small letters, digits, "-" and "_" inside, and at most 55 characters.';

export function base64(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}
