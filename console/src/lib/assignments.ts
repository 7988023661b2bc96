// Assignments as the API has them: calls, the preview, and the commands that do the same.
import { api, type AgentState, type Assignment, type Page, type Tagged } from './api';
import { shellQuote } from './shell';

/** What is to be assigned; a plan becomes an assignment when it is sent. */
export interface Plan {
  config: string;
  /** null: the latest when it is sent. */
  revision: number | null;
  selector: string;
  priority: number;
  batch_percent: number;
}

export interface PreviewAgent {
  instance_uid: string;
  name: string | null;
  host: string | null;
  connection: AgentState;
  outcome: 'gets' | 'has it' | 'offline' | 'not configurable' | 'outranked' | 'overridden';
  reason: string | null;
  /** What it is given now. */
  now: { config: string; revision: number } | null;
  /** How it stands with that; an older server does not say. */
  state?: string | null;
}

export interface Preview {
  matched: number;
  /** Would be given the revision; of those `changes` do not have it yet, and of those `offline` get it when they connect. */
  gets: number;
  changes: number;
  offline: number;
  incapable: number;
  outranked: number;
  overridden: number;
  batches: number;
  agents: PreviewAgent[];
  total: number;
}

export interface AssignedAgent {
  instance_uid: string;
  name: string | null;
  host: string | null;
  connection: AgentState;
  state: string;
  revision: number | null;
  error: string | null;
  released: boolean;
}

/** What agents that would be given the plan's revision are given now, the most frequent first, with the assignments that
 * give it. */
export interface Taken {
  config: string;
  revision: number;
  agents: number;
  assignments: string[];
}

export function takenOver(preview: Preview, known: Pick<Assignment, 'id' | 'config' | 'revision' | 'settled_revision'>[]): Taken[] {
  const found = new Map<string, Taken>();
  for (const { outcome, now } of preview.agents) {
    if (!now || (outcome !== 'gets' && outcome !== 'offline')) continue;
    const key = `${now.config}\n${now.revision}`;
    const givers = known.filter((one) => one.config === now.config && (one.revision === now.revision || one.settled_revision === now.revision));
    const one = found.get(key) ?? { ...now, agents: 0, assignments: givers.map(({ id }) => id) };
    found.set(key, { ...one, agents: one.agents + 1 });
  }
  return [...found.values()].sort((a, b) => b.agents - a.agents);
}

const path = (id: string): string => `/assignments/${encodeURIComponent(id)}`;
const body = ({ config, revision, selector, priority, batch_percent }: Plan) => ({ config, ...(revision === null ? {} : { revision }), selector, priority, batch_percent });

export const assignments = {
  list: (filter: Record<string, string>): Promise<Page<Assignment>> => api.get(`/assignments?${new URLSearchParams(filter)}`),
  get: (id: string): Promise<Tagged<Assignment>> => api.tagged(path(id)),
  create: (plan: Plan): Promise<Tagged<Assignment>> => api.write('POST', '/assignments', body(plan)),
  preview: async (plan: Plan, assignment: string | null = null): Promise<Preview> =>
    (await api.write<Preview>('POST', '/assignments/preview', { ...body(plan), ...(assignment ? { assignment } : {}) })).value,
  agents: (id: string, state: string): Promise<Page<AssignedAgent>> => api.get(`${path(id)}/agents${state ? `?state=${encodeURIComponent(state)}` : ''}`),
  change: (id: string, change: Partial<Pick<Plan, 'selector' | 'priority' | 'batch_percent'>>, etag: string | null): Promise<Tagged<Assignment>> => api.write('PATCH', path(id), change, etag),
  // A rollout that moves changes its version with each batch: what stops it or turns it round must not be refused for that.
  roll: (id: string, revision: number, batchPercent: number): Promise<Tagged<Assignment>> => api.write('POST', `${path(id)}/revision`, { revision, batch_percent: batchPercent }),
  stop: (id: string, verb: 'pause' | 'abort', reason: string): Promise<Tagged<Assignment>> => api.write('POST', `${path(id)}/${verb}`, reason ? { reason } : {}),
  /** Forgives the faults that were seen, so only those: with another version there may be more. */
  resume: (id: string, etag: string | null): Promise<Tagged<Assignment>> => api.write('POST', `${path(id)}/resume`, {}, etag),
  remove: (id: string, clear: boolean, etag: string | null): Promise<Tagged<void>> => api.write('DELETE', `${path(id)}?clear=${clear}`, undefined, etag),
};

/** The command that rolls a revision out, or goes back to one. */
export function rollCommand(verb: 'set-revision' | 'rollback', id: string, revision: number, batchPercent: number): string {
  return `muster assignments ${verb} ${shellQuote(id)} ${revision} --batch-percent ${batchPercent}`;
}

/** The command that changes whom an assignment reaches, and in which steps. */
export function setCommand(id: string, { selector, priority, percent }: { selector: string; priority: number; percent: number }): string {
  return `muster assignments set ${shellQuote(id)} ${selectorFlag(selector)} ${priority < 0 ? `--priority=${priority}` : `--priority ${priority}`} --batch ${percent}`;
}

/** Everybody is asked for by name, not by leaving something out. */
const selectorFlag = (selector: string): string => (selector.trim() === '' ? '--all' : `--selector ${shellQuote(selector.trim())}`);

/** The command that makes the same assignment, or previews it. */
export function planCommand(verb: 'create' | 'preview', plan: Plan): string {
  const words = [`muster assignments ${verb} ${shellQuote(plan.config || 'NAME')}`, selectorFlag(plan.selector)];
  if (plan.revision !== null) words.push(`--revision ${plan.revision}`);
  if (plan.priority !== 0) words.push(plan.priority < 0 ? `--priority=${plan.priority}` : `--priority ${plan.priority}`);
  if (verb === 'create') words.push(`--batch-percent ${plan.batch_percent}`);
  return words.join(' ');
}
