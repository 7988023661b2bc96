// What is done to many agents at once: who is meant, and the calls.
import { api, type AgentSummary } from './api';
import { apiQuery, isSelectorOnly, type AgentQuery } from './agent-query';
import { shellQuote } from './shell';

/** Either agents that were marked one by one, or all that a list's filters match. */
export type Chosen = { kind: 'some'; uids: string[] } | { kind: 'all'; query: AgentQuery; total: number };

export function amountOf(chosen: Chosen): number {
  return chosen.kind === 'some' ? chosen.uids.length : chosen.total;
}

/** The selector that means the same agents, now and later; null when none can. */
export function selectorOf(chosen: Chosen): string | null {
  return chosen.kind === 'all' && isSelectorOnly(chosen.query) ? chosen.query.selector : null;
}

async function uidsOf(chosen: Chosen): Promise<string[]> {
  if (chosen.kind === 'some') return chosen.uids;
  const found: AgentSummary[] = [];
  let cursor: string | null = '';
  while (cursor !== null) {
    const query = apiQuery({ ...chosen.query, cursor });
    const page: { items: AgentSummary[]; next_cursor: string | null } = await api.agents(`${query ? `${query}&` : ''}limit=500`);
    found.push(...page.items);
    cursor = page.next_cursor;
  }
  return found.map((agent) => agent.instance_uid);
}

export async function labelAgents(chosen: Chosen, set: Record<string, string>, remove: string[]): Promise<{ matched: number; changed: number }> {
  const selector = selectorOf(chosen);
  const who = selector === null ? { agents: await uidsOf(chosen) } : { selector };
  return (await api.write<{ matched: number; changed: number }>('POST', '/labels', { ...who, set, remove })).value;
}

const KEY = /^[A-Za-z0-9][A-Za-z0-9._/-]{0,62}$/;

/** Labels from lines of key=value; says what cannot be one. */
export function readLabels(text: string): { labels: Record<string, string>; fault: string | null } {
  const labels: Record<string, string> = {};
  for (const line of text.split('\n').map((one) => one.trim()).filter(Boolean)) {
    const at = line.indexOf('=');
    const [key, value] = at < 0 ? [line, ''] : [line.slice(0, at).trim(), line.slice(at + 1).trim()];
    if (at < 0) return { labels, fault: `“${line}” has no “=”.` };
    if (!KEY.test(key)) return { labels, fault: `“${key}” is no good key: letters, digits, “.”, “_”, “/” and “-”, at most 63.` };
    if (new TextEncoder().encode(value).length > 63) return { labels, fault: `The value of “${key}” is longer than 63 bytes.` };
    labels[key] = value;
  }
  return { labels, fault: Object.keys(labels).length > 64 ? 'There can be at most 64 labels.' : null };
}

/** The command that makes the labels of one agent so; null when they are so already. */
export function labelCommand(uid: string, before: Record<string, string>, after: Record<string, string>): string | null {
  const set = Object.entries(after).filter(([key, value]) => before[key] !== value).map(([key, value]) => shellQuote(`${key}=${value}`));
  const gone = Object.keys(before).filter((key) => !(key in after)).map((key) => shellQuote(`${key}-`));
  return set.length + gone.length > 0 ? ['muster agents label', shellQuote(uid), ...set, ...gone].join(' ') : null;
}
