// The columns that the list of agents can have: heads, order on the server, and the text that an export writes.
import type { AgentSummary } from './api';
import { configWord, healthWord } from './states';

export interface Column {
  id: string;
  head: string;
  /** What the server sorts by; null where it cannot. */
  sort: string | null;
  /** The room it needs, when it folds into the second line, and what it is called there: see fold.ts. */
  least: number;
  fold?: number;
  label?: string;
  text: (agent: AgentSummary) => string;
}

export const COLUMNS: Column[] = [
  { id: 'state', head: 'State', sort: 'state', least: 112, text: (agent) => agent.state },
  { id: 'name', head: 'Name', sort: 'name', least: 112, text: (agent) => agent.name ?? '' },
  { id: 'version', head: 'Version', sort: null, least: 96, fold: 6, label: '', text: (agent) => agent.version ?? '' },
  { id: 'host', head: 'Host', sort: null, least: 200, fold: 5, label: '', text: (agent) => agent.host ?? '' },
  { id: 'labels', head: 'Labels', sort: null, least: 180, fold: 7, label: '', text: labelText },
  { id: 'health', head: 'Health', sort: 'health', least: 104, fold: 3, label: '', text: (agent) => healthWord(agent.healthy) },
  { id: 'config', head: 'Config', sort: null, least: 176, fold: 4, label: '', text: configWord },
  { id: 'revision', head: 'Revision', sort: null, least: 120, fold: 8, text: revisionText },
  { id: 'reason', head: 'Reason', sort: null, least: 200, fold: 9, text: (agent) => agent.config?.reason ?? '' },
  { id: 'namespace', head: 'Namespace', sort: null, least: 112, fold: 10, text: (agent) => agent.namespace ?? '' },
  { id: 'os', head: 'System', sort: null, least: 96, fold: 11, text: (agent) => agent.os ?? '' },
  { id: 'transport', head: 'Transport', sort: null, least: 96, fold: 12, text: (agent) => agent.transport ?? '' },
  { id: 'address', head: 'Address', sort: null, least: 160, fold: 13, text: (agent) => agent.peer_address ?? '' },
  { id: 'connected_since', head: 'Connected', sort: 'connected_since', least: 96, fold: 14, text: (agent) => agent.connected_since ?? '' },
  { id: 'last_seen', head: 'Last seen', sort: 'last_seen', least: 80, fold: 1, text: (agent) => agent.last_seen ?? '' },
  { id: 'id', head: 'Instance id', sort: null, least: 270, fold: 15, text: (agent) => agent.instance_uid },
];

export const DEFAULT_COLUMNS = ['state', 'name', 'version', 'host', 'labels', 'health', 'config', 'last_seen'];

export function isColumn(id: string): boolean {
  return COLUMNS.some((column) => column.id === id);
}

/** The columns in the order of the list above, whatever the order they were chosen in. */
export function columnsOf(ids: string[]): Column[] {
  return COLUMNS.filter((column) => ids.includes(column.id));
}

export function labelText(agent: Pick<AgentSummary, 'labels'>): string {
  return Object.entries(agent.labels ?? {}).map(([key, value]) => `${key}=${value}`).join(', ');
}

/** "web 3", and whether the agent is pinned to it. */
export function revisionText(agent: Pick<AgentSummary, 'config'>): string {
  const { config, revision, override } = agent.config ?? {};
  return config && revision ? `${config} ${revision}${override ? ', pinned' : ''}` : '';
}
