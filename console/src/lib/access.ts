// Users, API tokens, enrolment tokens and the own password as the API has them.
import { api, type Role, type Tagged } from './api';

export interface User {
  name: string;
  role: Role;
  created_at: string;
  disabled: boolean;
  /** Only in the answer that made it, and only when the server made it. */
  password?: string | null;
}

export interface ApiToken {
  id: string;
  label: string;
  role: Role;
  created_by: string;
  created_at: string;
  expires_at: string | null;
  revoked_at: string | null;
  last_used_at: string | null;
}

export interface CreatedApiToken extends ApiToken {
  token: string;
}

/** A token with which agents enrol. */
export interface EnrolToken {
  id: string;
  label: string;
  created_at: string;
  /** After this moment it enrols nobody new; agents that it enrolled stay. */
  expires_at: string | null;
  revoked_at: string | null;
  last_used_at: string | null;
  /** How many agents are bound to it. */
  agents: number;
}

export const ROLES: Role[] = ['viewer', 'operator', 'admin'];
/** What each role may do, for the forms that give one. */
export const ROLE_WORDS: Record<Role, string> = {
  viewer: 'sees everything, changes nothing',
  operator: 'sees everything and changes configurations, assignments, hosts, services, labels and enrolment',
  admin: 'does all of that, and manages users, the tokens of others and the export of the activity',
};
export const LEAST_PASSWORD = 12;

const user = (name: string): string => `/users/${encodeURIComponent(name)}`;

export const access = {
  users: (): Promise<{ items: User[] }> => api.get('/users'),
  addUser: (name: string, role: Role): Promise<Tagged<User>> => api.write('POST', '/users', { name, role }),
  changeUser: (name: string, change: { role?: Role; disabled?: boolean; password?: true }): Promise<Tagged<User>> => api.write('PATCH', user(name), change),
  removeUser: (name: string): Promise<Tagged<void>> => api.write('DELETE', user(name)),
  tokens: (): Promise<{ items: ApiToken[] }> => api.get('/api-tokens'),
  addToken: (label: string, role: Role, days: number | null): Promise<Tagged<CreatedApiToken>> =>
    api.write('POST', '/api-tokens', { label, role, ...(days ? { expires_in: `${days}d` } : {}) }),
  revoke: (id: string): Promise<Tagged<void>> => api.write('DELETE', `/api-tokens/${encodeURIComponent(id)}`),
  enrolTokens: (): Promise<{ items: EnrolToken[] }> => api.get('/tokens'),
  revokeEnrolToken: (id: string): Promise<Tagged<void>> => api.write('DELETE', `/tokens/${encodeURIComponent(id)}`),
  changePassword: (current: string, fresh: string): Promise<Tagged<void>> => api.write('POST', '/session/password', { current, new: fresh }),
};
