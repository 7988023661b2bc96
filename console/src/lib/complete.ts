// Completion of selectors: what is being written at the end of the text, and what it could become. The server tells which
// keys agents have; values are those of the agents that were looked at. It is a help, the server has the last word.
import { api, type AgentDetail, type AgentSummary } from './api';

export interface Known {
  /** The values seen of each key. */
  keys: Map<string, Set<string>>;
}

export interface Suggestion {
  /** The whole text with the suggestion in place. */
  text: string;
  shown: string;
}

const USUAL = ['service.name', 'service.namespace', 'service.version', 'service.instance.id', 'host.name', 'os.type', 'host.arch', 'deployment.environment.name'];
const MOST = 8;
const MOST_VALUES = 200;

function add(known: Known, key: string, value: string | null | undefined): void {
  const values = known.keys.get(key) ?? new Set<string>();
  if (value && values.size < MOST_VALUES) values.add(value);
  known.keys.set(key, values);
}

/** The usual keys come first, as far as some agent has them; when nothing is known of that, all of them. */
export function knownFrom(agents: AgentSummary[], details: AgentDetail[] = [], keys: string[] = USUAL): Known {
  const first = USUAL.filter((key) => keys.includes(key));
  const known: Known = { keys: new Map([...first, ...keys].map((key) => [key, new Set<string>()])) };
  for (const agent of agents) {
    add(known, 'service.name', agent.name);
    add(known, 'service.namespace', agent.namespace);
    add(known, 'service.version', agent.version);
    add(known, 'host.name', agent.host);
    add(known, 'os.type', agent.os);
    for (const [key, value] of Object.entries(agent.labels ?? {})) add(known, key, value);
  }
  for (const { description } of details) {
    for (const { key, type, value } of [...(description?.identifying ?? []), ...(description?.non_identifying ?? [])]) {
      add(known, key, type === 'string' && typeof value === 'string' ? value : null);
    }
  }
  return known;
}

/** Looks at some agents of the fleet; without an answer only the usual keys are known. */
export async function learn(): Promise<Known> {
  try {
    const [{ items }, keys] = await Promise.all([api.agents('limit=500'), api.attributeKeys()]);
    const details = await Promise.all(items.slice(0, 2).map((agent) => api.agent(agent.instance_uid)));
    return knownFrom(items, details, keys.items);
  } catch {
    return knownFrom([]);
  }
}

/** A value as it is written in a selector: in quotes unless it is plain. */
export function quoted(value: string): string {
  return /^[A-Za-z0-9_][A-Za-z0-9_.:/-]*$/.test(value) ? value : JSON.stringify(value);
}

/** What the text could go on with: keys at the beginning of a term, values after an operator. */
export function suggest(known: Known, text: string): Suggestion[] {
  const value = /^(.*?)([\w./-]+)(\s*(?:=|==|!=)\s*|\s+(?:not)?in\s*\((?:[^()]*,)?\s*)([^\s,()]*)$/s.exec(text);
  if (value) {
    const [, before = '', key = '', operator = '', begun = ''] = value;
    const found = [...(known.keys.get(key) ?? [])].filter((one) => one.toLowerCase().startsWith(begun.toLowerCase()) && one !== begun);
    return found.sort().slice(0, MOST).map((one) => ({ text: `${before}${key}${operator}${quoted(one)}`, shown: `${key}${operator.trim().startsWith('=') || operator.trim().startsWith('!') ? operator.trim() : ' … '}${quoted(one)}` }));
  }
  const key = /^((?:.*,)?\s*!?)([\w./-]*)$/s.exec(text);
  // A comma inside of parentheses parts values, not terms.
  if (!key || text.lastIndexOf('(') > text.lastIndexOf(')')) return [];
  const [, before = '', begun = ''] = key;
  const lower = begun.toLowerCase();
  const found = [...known.keys.keys()].filter((one) => one !== begun && one.toLowerCase().includes(lower));
  // With nothing to go by, the usual keys come first, as they were put in.
  if (begun) found.sort((a, b) => Number(!a.toLowerCase().startsWith(lower)) - Number(!b.toLowerCase().startsWith(lower)) || a.localeCompare(b));
  return found.slice(0, MOST).map((one) => ({ text: `${before}${one}${before.trim().endsWith('!') ? '' : '='}`, shown: one }));
}
