// The audit trail as the API has it, and its entries in words.
import { api, type Page } from './api';
import { hostHref } from './router.svelte';

export interface AuditItem {
  id: string;
  at: string;
  actor: { kind: 'user' | 'token' | 'system'; name: string };
  address: string;
  action: string;
  object: string;
  before: unknown;
  after: unknown;
}

export const FILTERS = ['actor', 'action', 'object', 'since', 'until'] as const;

export const audit = {
  list: (filter: Record<string, string>): Promise<Page<AuditItem>> => api.get(`/audit?${new URLSearchParams(Object.entries(filter).filter(([, value]) => value))}`),
};

/** The page of the console for the object of an entry; null when it has none. */
export function objectHref(object: string): string | null {
  const [kind, ...rest] = object.split('/');
  const id = rest.join('/');
  if (!id) return kind === 'agents' ? '/agents' : null;
  if (kind === 'config') return `/configs/${encodeURIComponent(id)}`;
  if (kind === 'assignment') return `/assignments/${encodeURIComponent(id)}`;
  if (kind === 'host') return hostHref({ name: id });
  if (kind === 'agent') return `/agents/${encodeURIComponent(id)}`;
  if (kind === 'join-token') return '/hosts/add';
  return kind === 'user' || kind === 'api-token' ? '/settings' : null;
}

/** A value for people: a moment that is stored in milliseconds is a time. */
function text(field: string, value: unknown): string | null {
  if (value === undefined || value === null) return null;
  if (field.endsWith('_at') && typeof value === 'number' && value > 0) return new Date(value).toISOString();
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** What an entry changed, field by field; a value that stayed is left out. */
export function changed(before: unknown, after: unknown): { field: string; from: string | null; to: string | null }[] {
  const fields = (value: unknown): Record<string, unknown> => (typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : value === null || value === undefined ? {} : { value });
  const [old, fresh] = [fields(before), fields(after)];
  return [...new Set([...Object.keys(old), ...Object.keys(fresh)])]
    .map((field) => ({ field, from: text(field, old[field]), to: text(field, fresh[field]) }))
    .filter(({ from, to }) => from !== to);
}
