// The audit trail as the API has it, and its entries in words.
import { api, type Page } from './api';
import { hostHref } from './router.svelte';
import { absolute } from './time';

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

/** What was done, as people say it, with what comes after the object where that is parted. The API's word is shown beside. */
const DONE: Record<string, string> = {
  'agent.forget': 'forgot', 'agent.label': 'labelled', 'agent.pin': 'pinned', 'agent.unpin': 'let go', 'api-token.create': 'made', 'api-token.revoke': 'revoked',
  'assignment.abort': 'aborted the rollout of', 'assignment.change': 'changed', 'assignment.clear': 'began to take away', 'assignment.cleared': 'took away', 'assignment.create': 'made',
  'assignment.delete': 'deleted', 'assignment.done': 'ended the rollout of', 'assignment.pause': 'paused', 'assignment.release': 'released a batch of', 'assignment.resume': 'resumed',
  'assignment.set-revision': 'rolled out another revision by', 'config.create': 'made', 'config.delete': 'deleted', 'config.describe': 'described', 'config.import': 'took over from an agent',
  'config.revise': 'saved a revision of', 'deployment.abort': 'aborted', 'deployment.done': 'finished', 'deployment.fail': 'began to take back', 'deployment.rolled-back': 'took back', 'host.change': 'changed', 'host.join': 'took in', 'host.remove': 'removed', 'join-token.create': 'made',
  'join-token.revoke': 'revoked', 'label.change': 'changed the labels of', 'project.deploy': 'deployed', 'project.remove': 'removed', 'registry.remove': 'removed', 'registry.set': 'set',
  'secret.remove': 'removed', 'secret.set': 'set', 'service.remove': 'removed', 'service.rollback': 'rolled back', 'service.scale': 'scaled', 'session.begin': 'signed in', 'session.end': 'signed out',
  'token.create': 'made', 'token.revoke': 'revoked', 'user.change': 'changed', 'user.change-password': 'changed the password of', 'user.create': 'added', 'user.delete': 'deleted',
  'user.reset-login': 'reset the login of', 'view.create': 'saved', 'view.delete': 'deleted',
};

/** What a filter can be, with the words that it is known by. */
export const ACTIONS = Object.keys(DONE);

/** An action that this console does not know is told as it came. */
export function actionWords(action: string): string {
  return DONE[action] ?? action;
}

/** "made assignment", for a list of actions; where the words say of what already, no more. */
export function actionSentence(action: string): string {
  const [kind = ''] = action.split('.');
  return kind === 'session' ? actionWords(action) : `${actionWords(action)} ${kind === 'label' ? 'agent' : objectWords(kind)}`;
}

const KINDS: Record<string, string> = { config: 'configuration', 'api-token': 'API token', token: 'enrolment token', 'join-token': 'join token' };

/** "configuration web", "assignment 7". */
export function objectWords(object: string): string {
  const [kind = '', ...rest] = object.split('/');
  return [KINDS[kind] ?? kind, rest.join('/')].filter(Boolean).join(' ');
}

/** A value for people: a moment that is stored in milliseconds is a time, a mapping is its pairs, a hash its beginning. */
function text(field: string, value: unknown): string | null {
  if (value === undefined || value === null) return null;
  if (field.endsWith('_at') && typeof value === 'number' && value > 0) return absolute(new Date(value).toISOString());
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (field.endsWith('percent')) return `${JSON.stringify(value)} %`;
  if (field === 'hash' && typeof value === 'string') return value.slice(0, 12);
  if (typeof value === 'string') return value === '' ? 'nothing' : value;
  if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return value.join(', ') || 'none';
  if (typeof value === 'object' && Object.values(value).every((one) => typeof one === 'string')) return Object.entries(value).map(([key, one]) => `${key}=${one}`).join(', ') || 'none';
  return JSON.stringify(value);
}

/** "batch percent" is a batch. */
const fieldWords = (field: string): string => field.replace(/_(?:percent|at)$/, '').replaceAll('_', ' ');

/** What an entry changed, field by field; a value that stayed is left out. */
export function changed(before: unknown, after: unknown): { field: string; from: string | null; to: string | null }[] {
  const fields = (value: unknown): Record<string, unknown> => (typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : value === null || value === undefined ? {} : { value });
  const [old, fresh] = [fields(before), fields(after)];
  return [...new Set([...Object.keys(old), ...Object.keys(fresh)])]
    .map((field) => ({ field: fieldWords(field), from: text(field, old[field]), to: text(field, fresh[field]) }))
    .filter(({ from, to }) => from !== to);
}
