// The words for every state, with the shape and tone each is drawn in. The words are those of the API and the command
// line; a state is never shown by colour alone, and red is kept for "a person must act".
import type { AgentSummary } from './api';

export type Shape = 'disc' | 'half' | 'ring' | 'diamond' | 'check' | 'cross' | 'dash' | 'arrow' | 'none';
export type Tone = 'ok' | 'warn' | 'bad' | 'idle' | 'info';

export interface Mark {
  word: string;
  shape: Shape;
  tone: Tone;
  /** What the word means, for the tooltip. */
  means: string;
}

const AGENT: Record<string, Mark> = {
  connected: { word: 'connected', shape: 'disc', tone: 'ok', means: 'heard from in time' },
  silent: { word: 'silent', shape: 'half', tone: 'warn', means: 'still counted as here, but overdue' },
  disconnected: { word: 'disconnected', shape: 'ring', tone: 'idle', means: 'the connection has ended' },
  'pending approval': { word: 'pending approval', shape: 'diamond', tone: 'info', means: 'waits for an operator' },
};

const HEALTH: Record<string, Mark> = {
  healthy: { word: 'healthy', shape: 'check', tone: 'ok', means: 'the agent says that it works' },
  unhealthy: { word: 'unhealthy', shape: 'cross', tone: 'bad', means: 'the agent says that it does not work' },
  unknown: { word: 'unknown', shape: 'dash', tone: 'idle', means: 'the agent reports no health' },
};

const CONFIG: Record<string, Mark> = {
  applied: { word: 'applied', shape: 'check', tone: 'ok', means: 'runs the configuration it was offered' },
  applying: { word: 'applying', shape: 'arrow', tone: 'info', means: 'is taking over an offered configuration' },
  failed: { word: 'failed', shape: 'cross', tone: 'bad', means: 'could not apply the offered configuration' },
  unset: { word: 'unset', shape: 'dash', tone: 'idle', means: 'nothing was offered yet' },
  'not configurable': {
    word: 'not configurable',
    shape: 'none',
    tone: 'idle',
    means: 'does not accept a configuration from a server; its page says why',
  },
};

const ALL = { agent: AGENT, health: HEALTH, config: CONFIG };
export type MarkKind = keyof typeof ALL;

/** The mark of a state; a word that this console does not know is shown as it came. */
export function markOf(kind: MarkKind, word: string): Mark {
  return ALL[kind][word] ?? { word, shape: 'dash', tone: 'idle', means: 'a state that this console does not know' };
}

export function healthWord(healthy: boolean | null): string {
  if (healthy === null) return 'unknown';
  return healthy ? 'healthy' : 'unhealthy';
}

/** The word for an agent's configuration as it stands. */
export function configWord(agent: Pick<AgentSummary, 'remote_config' | 'capabilities'>): string {
  if (!can(agent, 'AcceptsRemoteConfig')) return 'not configurable';
  return agent.remote_config?.status ?? 'unset';
}

/** Whether the agent announced a capability; names are compared without case, as makers spell OpAMP in two ways. */
export function can(agent: Pick<AgentSummary, 'capabilities'>, name: string): boolean {
  const wanted = name.toLowerCase();
  return agent.capabilities.some((has) => has.toLowerCase() === wanted);
}
