// What a timeline and a message say in words.
import { expect, test } from 'vitest';
import { partsOf, turnOf, type AgentMessage, type TimelineItem } from './history';

const item: TimelineItem = { at: '2026-11-30T03:00:00.000Z', action: 'agent.connected', object: 'agent/1', actor: null, text: null, before: null, after: null };
const message: AgentMessage = { at: '2026-11-30T03:00:00.000Z', direction: 'from agent', size: 30, body: { instance_uid: 'x', sequence_num: '7', capabilities: [] } };

test('what the agent did itself is told in words, what others did by its action', () => {
  expect(turnOf(item)).toBe('connected');
  expect(turnOf({ ...item, action: 'agent.something-new' })).toBe('agent.something-new');
  expect(turnOf({ ...item, action: 'agent.pin', actor: { kind: 'user', name: 'olga' } })).toBeNull();
});

test('a message is told by the parts that are its own', () => {
  expect(partsOf(message)).toBe('a heartbeat');
  expect(partsOf({ ...message, direction: 'to agent' })).toBe('an acknowledgement');
  expect(partsOf({ ...message, body: { ...message.body, health: {}, effective_config: {} } })).toBe('health, effective_config');
  expect(partsOf({ ...message, body: null })).toBe('too long to be kept');
});
