// What the Agents page shows, as data: filters, sort and place, written to and read from the page's URL, so that every
// list has an address. The API call and the command that give the same list are made from it too.
import { shellQuote } from './shell';

export interface AgentQuery {
  q: string;
  selector: string;
  state: string;
  health: string;
  replaced: boolean;
  sort: string;
  cursor: string;
  /** Which page the cursor leads to, counted from 1; for display only. */
  page: number;
}

export const DEFAULT_SORT = 'name';
export const STATES = ['connected', 'silent', 'disconnected'];
export const HEALTHS = ['healthy', 'unhealthy', 'unknown'];

export function readQuery(search: string): AgentQuery {
  const from = new URLSearchParams(search);
  const page = Number(from.get('page'));
  return {
    q: from.get('q') ?? '',
    selector: from.get('selector') ?? '',
    state: from.get('state') ?? '',
    health: from.get('health') ?? '',
    replaced: from.get('replaced') === 'true',
    sort: from.get('sort') || DEFAULT_SORT,
    cursor: from.get('cursor') ?? '',
    page: Number.isSafeInteger(page) && page > 0 ? page : 1,
  };
}

/** The query string of the API call; defaults are left out. */
export function apiQuery(query: AgentQuery): string {
  const to = new URLSearchParams();
  for (const key of ['selector', 'q', 'state', 'health'] as const) if (query[key]) to.set(key, query[key]);
  if (query.replaced) to.set('replaced', 'true');
  if (query.sort !== DEFAULT_SORT) to.set('sort', query.sort);
  if (query.cursor) to.set('cursor', query.cursor);
  return to.toString();
}

/** The address of the page that shows this list. */
export function pageHref(query: AgentQuery): string {
  const to = new URLSearchParams(apiQuery(query));
  if (query.cursor && query.page > 1) to.set('page', String(query.page));
  const search = to.toString();
  return search ? `/agents?${search}` : '/agents';
}

/** The same query with some parts changed, back on its first page. */
export function withFilter(query: AgentQuery, change: Partial<AgentQuery>): AgentQuery {
  return { ...query, cursor: '', page: 1, ...change };
}

export function isFiltered(query: AgentQuery): boolean {
  return Boolean(query.q || query.selector || query.state || query.health);
}

/** What a click on a column's head asks for: that column, or its reverse if it is the one in use. */
export function nextSort(current: string, column: string): string {
  return current === column ? `-${column}` : column;
}

/** The command that prints the same list. */
export function listCommand(query: AgentQuery): string {
  const words = ['muster agents list'];
  if (query.selector) words.push(flag('selector', query.selector));
  if (query.q) words.push(flag('query', query.q));
  if (query.state) words.push(flag('state', query.state));
  if (query.health) words.push(flag('health', query.health));
  if (query.replaced) words.push('--replaced');
  if (query.sort !== DEFAULT_SORT) words.push(flag('sort', query.sort));
  return words.join(' ');
}

/** A value that begins with a hyphen must be joined on, or it reads as a flag of its own. */
function flag(name: string, value: string): string {
  return value.startsWith('-') ? `--${name}=${shellQuote(value)}` : `--${name} ${shellQuote(value)}`;
}
