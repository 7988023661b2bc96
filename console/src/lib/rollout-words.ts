// An assignment and its rollout in words and in parts: the sentence of its page, what is counted, what each action does.
import type { Assignment } from './api';
import type { RevisionSummary } from './configs';
import { markOf, type Mark } from './states';
import { count, number, oneLine } from './text';
import { ago } from './time';

/** One part of a rollout's bar; the parts add up to the agents that are eligible. */
export interface Part {
  word: 'in sync' | 'applying' | 'failed' | 'offline' | 'waiting';
  /** The kind of mark that the word is drawn with. */
  kind: 'config' | 'outcome';
  amount: number;
}

export function partsOf({ progress }: Assignment): Part[] {
  return [
    { word: 'in sync', kind: 'config', amount: progress.applied },
    { word: 'applying', kind: 'config', amount: progress.applying },
    { word: 'failed', kind: 'config', amount: progress.failed },
    { word: 'offline', kind: 'outcome', amount: progress.offline },
    { word: 'waiting', kind: 'outcome', amount: progress.waiting },
  ];
}

/** "12 of 38 agents have it, 3 apply it now, 1 failed, 22 wait." */
export function progressWords({ progress: { eligible, applied, applying, failed, offline, waiting } }: Assignment): string {
  if (eligible === 0) return 'No agent that matches can be given it now.';
  if (eligible === 1 && applied === 0) return `Its one agent ${failed ? 'failed' : applying ? 'applies it now' : offline ? 'is offline' : 'waits'}.`;
  const parts = [
    [applying, `${number(applying)} ${applying === 1 ? 'applies' : 'apply'} it now`],
    [failed, `${number(failed)} failed`],
    [offline, `${number(offline)} ${offline === 1 ? 'is' : 'are'} offline`],
    [waiting, `${number(waiting)} ${waiting === 1 ? 'waits' : 'wait'}`],
  ] as const;
  const have = `${number(applied)} of ${count(eligible, 'agent')} ${applied === 1 ? 'has' : 'have'} it`;
  return `${[have, ...parts.filter(([amount]) => amount > 0).map(([, words]) => words)].join(', ')}.`;
}

/** Its state as a mark. One that is done and that some agents could not apply is not as it should be. */
export function assignmentMark(one: Assignment): Mark {
  const { failed } = one.progress;
  if (one.state !== 'done' || failed === 0) return markOf('assignment', one.state);
  return { word: `done, ${number(failed)} failed`, shape: 'cross', tone: 'bad', means: 'everybody who matches was given it, and not everybody could apply it' };
}

/** What stands between an assignment and what everybody had before it: the revision to go back to. `settled`: that is
 * what this assignment gave; else the revision before this one, which it has given to nobody. */
export interface Former {
  revision: number;
  settled: boolean;
}

export function formerOf(one: Pick<Assignment, 'revision' | 'settled_revision'>, revisions: Pick<RevisionSummary, 'number'>[]): Former | null {
  if (one.settled_revision !== null && one.settled_revision !== one.revision) return { revision: one.settled_revision, settled: true };
  const before = Math.max(0, ...revisions.map(({ number }) => number).filter((number) => number < one.revision));
  return before > 0 ? { revision: before, settled: false } : null;
}

/** "Paused by itself 20 s ago: 1 agent failed." */
export function pauseTitle(one: Assignment, now: number): string {
  const when = ago(one.updated_at, now);
  const told = when === null || when === 'now' ? '' : ` ${when}`;
  if (!one.pause || one.pause.kind === 'operator') return `Paused by an operator${told}.`;
  const failed = Math.max(1, one.progress.failed);
  const why = { failed: `${count(failed, 'agent')} failed`, 'health lost': 'an agent is not healthy any more', 'no answer': 'an agent gives no answer', left: 'nobody of a batch has applied it, and its agents left' };
  return `Paused by itself${told}: ${why[one.pause.kind] ?? one.pause.kind}.`;
}

/** "otelcol on edge-08.eu.example.net": agents share names, so the host tells which one it is. */
export function pausedAt(pause: NonNullable<Assignment['pause']>): string {
  const name = pause.agent_name ? oneLine(pause.agent_name, 60) : 'that agent';
  return pause.host ? `${name} on ${oneLine(pause.host, 80)}` : name;
}

/** "batch 2 of 4"; null when all go at once, or when it is over. */
export function batchPlace(one: Assignment): string | null {
  const { eligible, released } = one.progress;
  const all = Math.ceil(eligible / batchSize(eligible, one.batch_percent));
  if (all < 2 || (one.state !== 'rolling' && one.state !== 'paused')) return null;
  return released === 0 ? `no batch of ${number(all)} yet` : `batch ${number(Math.ceil(released / batchSize(eligible, one.batch_percent)))} of ${number(all)}`;
}

/** The sentence that opens an assignment's page. */
export function assignmentSentence(one: Assignment): string {
  const what = `${one.config} revision ${one.revision}`;
  const words = {
    rolling: `${what} is being rolled out`,
    paused: `The rollout of ${what} is paused`,
    done: `${what} is assigned`,
    aborted: `The rollout of ${what} was aborted`,
    clearing: `${one.config} is being taken away`,
  };
  return `${words[one.state] ?? `${what}: ${one.state}`}. ${progressWords(one)}`;
}

/** "5 assignments: 1 paused and waiting for somebody, 1 with agents that failed." */
export function assignmentsSentence(all: Assignment[], total: number): string {
  const having = (is: (one: Assignment) => boolean): number => all.filter(is).length;
  const rolling = having((one) => one.state === 'rolling');
  const paused = having((one) => one.state === 'paused');
  const ill = having((one) => one.state !== 'paused' && one.progress.failed > 0);
  const now = [rolling ? `${number(rolling)} rolling` : '', paused ? `${number(paused)} paused and waiting for somebody` : '', ill ? `${number(ill)} with agents that failed` : ''].filter(Boolean).join(', ');
  return `${count(total, 'assignment')}${now ? `: ${now}` : ', none on its way'}.`;
}

/** The agents that a selector stands for, in words. */
export function selectorWords(selector: string): string {
  return selector.trim() === '' ? 'every agent' : selector;
}

/** How many agents one batch releases: a share of those that are eligible, and at least one. */
export function batchSize(agents: number, percent: number): number {
  return Math.max(1, Math.ceil((agents * percent) / 100));
}

/** "in 10 batches of 4", "all at once". */
export function batchWords(agents: number, percent: number): string {
  const size = batchSize(agents, percent);
  if (agents <= size) return 'all at once';
  return `in ${count(Math.ceil(agents / size), 'batch', 'batches')} of ${number(size)}`;
}
