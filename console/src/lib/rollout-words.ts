// An assignment and its rollout in words and in parts: the sentence of its page, what is counted, what each action does.
import type { Assignment } from './api';
import { count, number } from './text';

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
  const parts = [
    [applying, `${number(applying)} ${applying === 1 ? 'applies' : 'apply'} it now`],
    [failed, `${number(failed)} failed`],
    [offline, `${number(offline)} ${offline === 1 ? 'is' : 'are'} offline`],
    [waiting, `${number(waiting)} ${waiting === 1 ? 'waits' : 'wait'}`],
  ] as const;
  const have = `${number(applied)} of ${count(eligible, 'agent')} ${applied === 1 ? 'has' : 'have'} it`;
  return `${[have, ...parts.filter(([amount]) => amount > 0).map(([, words]) => words)].join(', ')}.`;
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
