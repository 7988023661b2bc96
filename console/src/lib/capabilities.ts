// What an agent can do, in an operator's words, and where it cannot: why, and what to change. The names are those of
// the specification's AgentCapabilities.
import type { AgentDetail, AgentSummary } from './api';
import { can } from './states';

export interface Ability {
  name: string;
  has: boolean;
  /** What an operator can do or see because of it. */
  words: string;
  /** Why it is missing and how to get it; null while it is there. */
  whyNot: string | null;
}

interface Row {
  name: string;
  words: string;
  missing: string;
}

const ROWS: Row[] = [
  { name: 'ReportsStatus', words: 'Reports its status', missing: 'Every agent must announce this; its client library leaves the bit out. Muster takes its reports all the same.' },
  { name: 'ReportsHealth', words: 'Says whether it works', missing: 'Its health stays unknown here until its client reports it.' },
  { name: 'ReportsEffectiveConfig', words: 'Shows the configuration it runs', missing: 'Its client does not send the effective configuration.' },
  { name: 'AcceptsRemoteConfig', words: 'Takes a configuration from a server', missing: 'Its client does not accept a configuration from a server. Switch remote configuration on in its OpAMP client.' },
  { name: 'ReportsRemoteConfig', words: 'Says whether a configuration took', missing: 'Whether an offered configuration was applied would not be known.' },
  { name: 'AcceptsRestartCommand', words: 'Can be restarted by a server', missing: 'Restart it on its own machine.' },
  { name: 'AcceptsOpAMPConnectionSettings', words: 'Can be given a new credential or address', missing: 'It keeps the credential it enrolled with. Change that in its own configuration.' },
  { name: 'AcceptsOtherConnectionSettings', words: 'Takes settings for other destinations', missing: 'Its other destinations are set in its own configuration.' },
  { name: 'ReportsConnectionSettingsStatus', words: 'Says whether connection settings took', missing: 'Whether offered settings were applied is seen only when it connects with them.' },
  { name: 'AcceptsPackages', words: 'Installs packages that a server offers', missing: 'Install and upgrade it with the means of its machine.' },
  { name: 'ReportsPackageStatuses', words: 'Says which packages it has', missing: 'Its packages are not known here.' },
  { name: 'ReportsAvailableComponents', words: 'Lists the components it was built with', missing: 'What it was built with is not known here.' },
  { name: 'ReportsHeartbeat', words: 'Sends a heartbeat', missing: 'Over WebSocket it is judged by ping instead; over HTTP by its polls.' },
  { name: 'ReportsOwnMetrics', words: 'Sends its own metrics where told', missing: 'Set the destination of its own metrics in its configuration.' },
  { name: 'ReportsOwnTraces', words: 'Sends its own traces where told', missing: 'Set the destination of its own traces in its configuration.' },
  { name: 'ReportsOwnLogs', words: 'Sends its own logs where told', missing: 'Set the destination of its own logs in its configuration.' },
];

const EXTENSION =
  "The Collector's opamp extension accepts no configuration. Run it under the supervisor to make it configurable.";

/** Every capability of the specification, in the order an operator asks for them. */
export function abilities(agent: AgentSummary & Partial<AgentDetail>): Ability[] {
  return ROWS.map(({ name, words, missing }) => {
    const has = can(agent, name);
    const why = name === 'AcceptsRemoteConfig' && isCollectorExtension(agent) ? EXTENSION : missing;
    return { name, has, words, whyNot: has ? null : why };
  });
}

/**
 * Whether the agent looks like a Collector that runs the opamp extension without a supervisor. The extension says so
 * nowhere; it is told by the configuration it reports, and by what it announces when it reports none.
 */
export function isCollectorExtension(agent: AgentSummary & Partial<AgentDetail>): boolean {
  if (can(agent, 'AcceptsRemoteConfig')) return false;
  const files = agent.effective_config?.files ?? [];
  if (files.some((file) => /^\s*opamp(\/[\w-]+)?:/m.test(file.body) && /^extensions:/m.test(file.body))) return true;
  return /otelcol|collector/i.test(agent.name ?? '') && can(agent, 'ReportsEffectiveConfig');
}
