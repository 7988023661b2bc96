// The columns that the list of agents can have: heads, order on the server, and the text that an export writes.
import type { AgentSummary } from './api';
import { configWord, healthWord } from './states';

export interface Column {
  id: string;
  head: string;
  /** What the server sorts by; null where it cannot. */
  sort: string | null;
  /** The least screen it is shown on when it was not asked for. */
  from: '' | 'wide' | 'widest';
  text: (agent: AgentSummary) => string;
}

export const COLUMNS: Column[] = [
  { id: 'state', head: 'State', sort: 'state', from: '', text: (agent) => agent.state },
  { id: 'name', head: 'Name', sort: 'name', from: '', text: (agent) => agent.name ?? '' },
  { id: 'version', head: 'Version', sort: null, from: 'widest', text: (agent) => agent.version ?? '' },
  { id: 'host', head: 'Host', sort: null, from: 'widest', text: (agent) => agent.host ?? '' },
  { id: 'labels', head: 'Labels', sort: null, from: 'widest', text: labelText },
  { id: 'health', head: 'Health', sort: 'health', from: 'wide', text: (agent) => healthWord(agent.healthy) },
  { id: 'config', head: 'Config', sort: null, from: 'wide', text: configWord },
  { id: 'revision', head: 'Revision', sort: null, from: 'widest', text: revisionText },
  { id: 'reason', head: 'Reason', sort: null, from: 'widest', text: (agent) => agent.config?.reason ?? '' },
  { id: 'namespace', head: 'Namespace', sort: null, from: 'widest', text: (agent) => agent.namespace ?? '' },
  { id: 'os', head: 'System', sort: null, from: 'widest', text: (agent) => agent.os ?? '' },
  { id: 'transport', head: 'Transport', sort: null, from: 'widest', text: (agent) => agent.transport ?? '' },
  { id: 'address', head: 'Address', sort: null, from: 'widest', text: (agent) => agent.peer_address ?? '' },
  { id: 'connected_since', head: 'Connected', sort: 'connected_since', from: 'widest', text: (agent) => agent.connected_since ?? '' },
  { id: 'last_seen', head: 'Last seen', sort: 'last_seen', from: '', text: (agent) => agent.last_seen ?? '' },
  { id: 'id', head: 'Instance id', sort: null, from: 'widest', text: (agent) => agent.instance_uid },
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
