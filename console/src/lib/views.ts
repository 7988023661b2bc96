// Saved views of the list of agents: a name for filters and order, shared by everybody.
import { api } from './api';
import { pageHref, readQuery, type AgentQuery } from './agent-query';

const KEYS = ['selector', 'q', 'state', 'health', 'config_state', 'config', 'sort'] as const;

export interface View {
  id: string;
  name: string;
  query: Partial<Record<(typeof KEYS)[number], string | null>>;
  created_by: string;
}

export const views = {
  list: (): Promise<{ items: View[] }> => api.get('/views'),
  save: async (name: string, query: AgentQuery): Promise<void> => {
    await api.write('POST', '/views', { name, query: Object.fromEntries(KEYS.filter((key) => query[key]).map((key) => [key, query[key]])) });
  },
  remove: async (id: string): Promise<void> => {
    await api.write('DELETE', `/views/${encodeURIComponent(id)}`);
  },
};

/** The address of the list that a view shows. */
export function viewHref(view: View): string {
  const given = Object.entries(view.query).filter((entry): entry is [string, string] => typeof entry[1] === 'string' && entry[1] !== '');
  return pageHref(readQuery(`?${new URLSearchParams(given)}`));
}
