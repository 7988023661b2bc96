// The sentence that opens each page: what is true now, in words.
import type { AgentDetail, Overview } from './api';
import { isFiltered, type AgentQuery } from './agent-query';
import { count, number } from './text';
import { healthWord } from './states';
import { ago, span } from './time';

type Counts = Overview['agents'];

/** "3 agents: 2 connected, 1 silent." and, apart from it, how many say that they are unhealthy. */
export function fleetSentence(counts: Counts): string {
  if (counts.total === 0) return 'No agent has connected yet.';
  const parts = (['connected', 'silent', 'disconnected'] as const)
    .filter((state) => counts[state] > 0)
    .map((state) => `${number(counts[state])} ${state}`);
  const fleet = `${count(counts.total, 'agent')}${parts.length ? `: ${parts.join(', ')}` : ''}.`;
  return counts.unhealthy ? `${fleet} ${number(counts.unhealthy)} unhealthy.` : fleet;
}

/** "3 of 412 agents run what they were given, 1 failed, 2 drifted." What is as it should be comes first. */
export function configSentence(counts: NonNullable<Overview['config']>): string {
  const managed = counts.in_sync + counts.offered + counts.applying + counts.failed + counts.drifted;
  if (managed === 0) return 'No agent is given a configuration by this server.';
  const rest = ([['failed', counts.failed], ['drifted', counts.drifted], ['applying', counts.applying], ['offered', counts.offered]] as const)
    .filter(([, amount]) => amount > 0)
    .map(([word, amount]) => `${number(amount)} ${word}`);
  const which = 'that have a configuration from here';
  if (managed > counts.in_sync) return `${number(counts.in_sync)} of ${count(managed, 'agent')} ${which} ${counts.in_sync === 1 ? 'runs' : 'run'} it; ${rest.join(', ')}.`;
  return managed === 1 ? 'The one agent that has a configuration from here runs it.' : `All ${count(managed, 'agent')} ${which} run it.`;
}

/** "2 of 412 agents match." for a filtered list that was counted; the fleet's sentence otherwise. */
export function listSentence(query: AgentQuery, matching: number | null, counts: Counts): string {
  if (matching === null || !isFiltered(query)) return fleetSentence(counts);
  const match = matching === 1 ? 'matches' : 'match';
  return `${number(matching)} of ${count(Math.max(counts.total, matching), 'agent')} ${match}.`;
}

/** "Connected for 3 h and healthy, last heard from 4 s ago." */
export function agentSentence(agent: AgentDetail, now: number): string {
  const heard = agent.last_seen ? ago(agent.last_seen, now) : null;
  const tail = heard === 'now' ? ', heard from just now.' : heard ? `, last heard from ${heard}.` : '.';
  const health = healthWord(agent.healthy);
  const told = health === 'unknown' ? 'reports no health' : `${agent.state === 'connected' ? 'is' : 'was last'} ${health}`;
  const since = agent.state !== 'disconnected' && agent.connected_since ? Date.parse(agent.connected_since) : NaN;
  const state = capital(agent.state) + (Number.isNaN(since) ? '' : ` (on this connection for ${span(now - since)})`);
  return `${state}; it ${told}${tail}${standing(agent)}`;
}

/** What is wrong with its configuration; nothing when nothing is. */
function standing({ config, drift }: AgentDetail): string {
  const what = config?.config && config.revision ? `${config.config} revision ${config.revision}` : 'its configuration';
  if (config?.state === 'failed') return ` It could not apply ${what}.`;
  if (config?.state === 'drifted') return drift?.length ? ` It runs otherwise than ${what} says, in ${count(drift.length, 'place')}.` : ` It runs otherwise than ${what} says.`;
  return '';
}

function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}
