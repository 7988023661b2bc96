// What the Agents page shows, as data: filters, sort and place, written to and read from the page's URL, so that every
// list has an address. The API call and the command that give the same list are made from it too.
import { DEFAULT_COLUMNS, isColumn } from './agent-columns';
import { shellQuote } from './shell';

export interface AgentQuery {
  q: string;
  selector: string;
  state: string;
  health: string;
  /** Where the agent stands with its configuration, and which one that is. */
  config_state: string;
  config: string;
  replaced: boolean;
  sort: string;
  cursor: string;
  /** Names of the columns that are shown. */
  columns: string[];
  /** Which page the cursor leads to, counted from 1; for display only. */
  page: number;
}

const FILTERS = ['selector', 'q', 'state', 'health', 'config_state', 'config'] as const;
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
    config_state: from.get('config_state') ?? '',
    config: from.get('config') ?? '',
    replaced: from.get('replaced') === 'true',
    sort: from.get('sort') || DEFAULT_SORT,
    cursor: from.get('cursor') ?? '',
    columns: readColumns(from.get('columns')),
    page: Number.isSafeInteger(page) && page > 0 ? page : 1,
  };
}

function readColumns(text: string | null): string[] {
  const chosen = (text ?? '').split(',').filter(isColumn);
  return chosen.length > 0 ? [...new Set(chosen)] : DEFAULT_COLUMNS;
}

/** The query string of the API call; defaults are left out. */
export function apiQuery(query: AgentQuery): string {
  const to = new URLSearchParams();
  for (const key of FILTERS) if (query[key]) to.set(key, query[key]);
  if (query.replaced) to.set('replaced', 'true');
  if (query.sort !== DEFAULT_SORT) to.set('sort', query.sort);
  if (query.cursor) to.set('cursor', query.cursor);
  return to.toString();
}

/** The address of the page that shows this list. */
export function pageHref(query: AgentQuery): string {
  const to = new URLSearchParams(apiQuery(query));
  if (query.cursor && query.page > 1) to.set('page', String(query.page));
  if (query.columns.join() !== DEFAULT_COLUMNS.join()) to.set('columns', query.columns.join(','));
  const search = to.toString();
  return search ? `/agents?${search}` : '/agents';
}

/** The same query with some parts changed, back on its first page. */
export function withFilter(query: AgentQuery, change: Partial<AgentQuery>): AgentQuery {
  return { ...query, cursor: '', page: 1, ...change };
}

export function isFiltered(query: AgentQuery): boolean {
  return FILTERS.some((key) => query[key] !== '');
}

/** Whether the selector alone says which agents these are, as an assignment needs it. */
export function isSelectorOnly(query: AgentQuery): boolean {
  return !query.replaced && FILTERS.every((key) => key === 'selector' || query[key] === '');
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
  if (query.config_state) words.push(flag('config-state', query.config_state));
  if (query.config) words.push(flag('config', query.config));
  if (query.replaced) words.push('--replaced');
  if (query.sort !== DEFAULT_SORT) words.push(flag('sort', query.sort));
  return words.join(' ');
}

/** A value that begins with a hyphen must be joined on, or it reads as a flag of its own. */
function flag(name: string, value: string): string {
  return value.startsWith('-') ? `--${name}=${shellQuote(value)}` : `--${name} ${shellQuote(value)}`;
}
