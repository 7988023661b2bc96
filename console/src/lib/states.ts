// The words for every state, with the shape and tone each is drawn in. The words are those of the API and the command
// line; a state is never shown by colour alone, and red is kept for "a person must act".
import type { AgentSummary } from './api';

export type Shape = 'disc' | 'half' | 'ring' | 'diamond' | 'check' | 'cross' | 'dash' | 'arrow' | 'barred';
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
  'in sync': { word: 'in sync', shape: 'check', tone: 'ok', means: 'runs the configuration that it was given' },
  offered: { word: 'offered', shape: 'ring', tone: 'info', means: 'was offered a configuration and has not answered yet' },
  applying: { word: 'applying', shape: 'arrow', tone: 'info', means: 'is taking over an offered configuration' },
  failed: { word: 'failed', shape: 'cross', tone: 'bad', means: 'could not apply the offered configuration' },
  drifted: { word: 'drifted', shape: 'diamond', tone: 'warn', means: 'said that it applied what was offered and runs something else' },
  unmanaged: { word: 'unmanaged', shape: 'dash', tone: 'idle', means: 'is given no configuration by this server' },
  'not configurable': {
    word: 'not configurable',
    shape: 'barred',
    tone: 'idle',
    means: 'does not accept a configuration from a server; its page says why',
  },
};

const ASSIGNMENT: Record<string, Mark> = {
  rolling: { word: 'rolling', shape: 'arrow', tone: 'info', means: 'is given to agents, batch by batch' },
  paused: { word: 'paused', shape: 'half', tone: 'bad', means: 'gives it to nobody more until somebody decides' },
  done: { word: 'done', shape: 'check', tone: 'ok', means: 'everybody who matches was given it' },
  aborted: { word: 'aborted', shape: 'cross', tone: 'idle', means: 'was stopped: who has the revision keeps it, nobody more gets it' },
  clearing: { word: 'clearing', shape: 'arrow', tone: 'idle', means: 'takes its configuration away from agents, then it is gone' },
};

const OUTCOME: Record<string, Mark> = {
  gets: { word: 'gets', shape: 'arrow', tone: 'info', means: 'is given the revision' },
  'has it': { word: 'has it', shape: 'check', tone: 'ok', means: 'runs the revision already' },
  offline: { word: 'offline', shape: 'ring', tone: 'idle', means: 'is given the revision when it connects' },
  'not configurable': CONFIG['not configurable']!,
  outranked: { word: 'outranked', shape: 'dash', tone: 'warn', means: 'another assignment comes first' },
  overridden: { word: 'overridden', shape: 'diamond', tone: 'warn', means: 'is pinned to a revision' },
  waiting: { word: 'waiting', shape: 'dash', tone: 'idle', means: 'waits for its batch' },
};

const HOST: Record<string, Mark> = {
  online: { word: 'online', shape: 'disc', tone: 'ok', means: 'is connected' },
  offline: { word: 'offline', shape: 'ring', tone: 'bad', means: 'is not connected; its containers run on as they were' },
  joining: { word: 'joining', shape: 'arrow', tone: 'info', means: 'has joined and not connected yet' },
  cordoned: { word: 'cordoned', shape: 'barred', tone: 'warn', means: 'keeps what it has and gets nothing new' },
  adopting: { word: 'adopting', shape: 'half', tone: 'warn', means: 'removes nothing since the server was restored, until somebody ends that' },
};

const REPLICA: Record<string, Mark> = {
  starting: { word: 'starting', shape: 'arrow', tone: 'info', means: 'is made or does not work yet' },
  healthy: { word: 'healthy', shape: 'check', tone: 'ok', means: 'works' },
  running: { word: 'running', shape: 'check', tone: 'ok', means: 'runs; it has no health check that could say more' },
  unhealthy: { word: 'unhealthy', shape: 'cross', tone: 'bad', means: 'runs, and its health check fails' },
  stopped: { word: 'stopped', shape: 'ring', tone: 'idle', means: 'has ended or is taken away' },
  failed: { word: 'failed', shape: 'cross', tone: 'bad', means: 'ends again and again, or could not be made' },
  stranded: { word: 'stranded', shape: 'diamond', tone: 'warn', means: 'its host is offline or has no engine that answers: nobody knows whether it works' },
};

const SERVICE: Record<string, Mark> = {
  healthy: { word: 'healthy', shape: 'check', tone: 'ok', means: 'all replicas that it should have work' },
  running: { word: 'running', shape: 'check', tone: 'ok', means: 'all replicas that it should have run; there is no health check that could say more' },
  degraded: { word: 'degraded', shape: 'half', tone: 'warn', means: 'some replicas work, fewer than it should have' },
  failed: { word: 'failed', shape: 'cross', tone: 'bad', means: 'no replica works' },
  stranded: { word: 'stranded', shape: 'diamond', tone: 'warn', means: 'its hosts are offline or have no engine that answers: nobody knows whether it works' },
  updating: { word: 'updating', shape: 'arrow', tone: 'info', means: 'a deployment changes it now' },
  stopped: { word: 'stopped', shape: 'ring', tone: 'idle', means: 'should have no replica' },
};

const DEPLOYMENT: Record<string, Mark> = {
  running: { word: 'running', shape: 'arrow', tone: 'info', means: 'is under way' },
  'rolling back': { word: 'rolling back', shape: 'half', tone: 'warn', means: 'takes the services back to what they ran before' },
  done: { word: 'done', shape: 'check', tone: 'ok', means: 'all its services run as it said' },
  'rolled back': { word: 'rolled back', shape: 'cross', tone: 'bad', means: 'the services run what they ran before' },
  superseded: { word: 'superseded', shape: 'dash', tone: 'idle', means: 'another deployment took its place' },
};

const DEPLOYED: Record<string, Mark> = {
  waiting: { word: 'waiting', shape: 'dash', tone: 'idle', means: 'is not as the deployment says yet' },
  done: { word: 'done', shape: 'check', tone: 'ok', means: 'is as the deployment says' },
  failed: { word: 'failed', shape: 'cross', tone: 'bad', means: 'could not be made as the deployment says' },
};

const ALL = {
  agent: AGENT, health: HEALTH, config: CONFIG, assignment: ASSIGNMENT, outcome: OUTCOME, host: HOST, replica: REPLICA, service: SERVICE, deployment: DEPLOYMENT,
  deployed: DEPLOYED,
};
/** The words for where agents stand with their configuration, as filters offer them. */
export const CONFIG_STATES = Object.keys(CONFIG);
export type MarkKind = keyof typeof ALL;

/** The mark of a state; a word that this console does not know is shown as it came. */
export function markOf(kind: MarkKind, word: string): Mark {
  return ALL[kind][word] ?? { word, shape: 'dash', tone: 'idle', means: 'a state that this console does not know' };
}

export function healthWord(healthy: boolean | null): string {
  if (healthy === null) return 'unknown';
  return healthy ? 'healthy' : 'unhealthy';
}

/** Where an agent stands with its configuration; an older server does not say, and what it cannot say is not made up. */
export function configWord(agent: Pick<AgentSummary, 'config' | 'capabilities'>): string {
  return agent.config?.state ?? (can(agent, 'AcceptsRemoteConfig') ? 'unmanaged' : 'not configurable');
}

/** Whether the agent announced a capability; names are compared without case, as makers spell OpAMP in two ways. */
export function can(agent: Pick<AgentSummary, 'capabilities'>, name: string): boolean {
  const wanted = name.toLowerCase();
  return agent.capabilities.some((has) => has.toLowerCase() === wanted);
}
