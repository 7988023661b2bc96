// What happened to one agent, and what it and the server say to each other, as the API has them.
import { api } from './api';

export interface TimelineItem {
  at: string;
  /** An action of the audit trail, or a turn of the agent itself: `agent.connected`. */
  action: string;
  object: string;
  /** Null for what the agent or a rollout did. */
  actor: { kind: string; name: string } | null;
  text: string | null;
  before: unknown;
  after: unknown;
}

export interface AgentMessage {
  at: string;
  direction: 'from agent' | 'to agent';
  size: number;
  /** Null: too long to be kept. */
  body: Record<string, unknown> | null;
}

const agent = (uid: string): string => `/agents/${encodeURIComponent(uid)}`;

export const history = {
  timeline: (uid: string): Promise<{ items: TimelineItem[] }> => api.get(`${agent(uid)}/timeline`),
  messages: (uid: string): Promise<{ kept_until: string; items: AgentMessage[] }> => api.get(`${agent(uid)}/messages`),
};

const TURNS: Record<string, string> = {
  'agent.first-seen': 'was seen for the first time',
  'agent.enrolled': 'was enrolled',
  'agent.connected': 'connected',
  'agent.disconnected': 'is gone',
  'agent.health': 'reported its health',
  'agent.released': 'had its turn in a rollout',
};

/** What the agent itself did in words; null for an action of somebody else. */
export function turnOf(item: TimelineItem): string | null {
  return item.actor === null ? (TURNS[item.action] ?? item.action) : null;
}

/** What every message has says nothing about this one. */
const USUAL = ['instance_uid', 'sequence_num', 'capabilities'];

/** The parts that a message has beside the usual ones. */
export function partsOf(message: AgentMessage): string {
  if (message.body === null) return 'too long to be kept';
  const parts = Object.keys(message.body).filter((name) => !USUAL.includes(name));
  return parts.length > 0 ? parts.join(', ') : message.direction === 'from agent' ? 'a heartbeat' : 'an acknowledgement';
}
