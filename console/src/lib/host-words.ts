// What is true of hosts, in words: sentences, room, the steps of a machine that becomes a host, commands.
import { quoted } from './complete';
import type { Host, HostChange, JoinToken } from './hosts';
import { shellQuote } from './shell';
import { bytes, count, number, oneLine } from './text';
import { span } from './time';

/** "2 of 3 hosts are online; 1 needs you." */
export function hostsSentence(hosts: Host[]): string {
  if (hosts.length === 0) return 'No machine is a host yet.';
  const online = hosts.filter((host) => host.state === 'online').length;
  const ill = hosts.filter((host) => host.problems.length > 0).length;
  const needs = ill === 0 ? 'none needs you' : `${number(ill)} ${ill === 1 ? 'needs' : 'need'} you`;
  const joining = hosts.filter((host) => host.state === 'joining').length;
  const more = joining === 0 ? '' : `, ${number(joining)} ${joining === 1 ? 'is' : 'are'} joining`;
  if (hosts.length === 1) return `The one host is ${hosts[0]?.state}; ${ill === 0 ? 'nothing is wrong with it' : 'it needs you'}.`;
  return online === hosts.length ? `All ${count(online, 'host')} are online; ${needs}.` : `${number(online)} of ${count(hosts.length, 'host')} ${online === 1 ? 'is' : 'are'} online${more}; ${needs}.`;
}

/** What is wrong with a host. That it has not applied what it was told is, when it has a reason for it. */
export function problemsOf(host: Host): string[] {
  const lags = host.problems.length > 0 && host.state === 'online' && !host.in_sync;
  return lags ? [...host.problems, 'it has not applied what it was told last'] : host.problems;
}

/** "Online for 3 h; 2 of 3 replicas ready; 1 thing is wrong." `illAgents`: agents on its machine that say that they do not work. */
export function hostSentence(host: Host, now: number, illAgents = 0): string {
  const since = host.since ? Date.parse(host.since) : NaN;
  const how = host.state === 'online' ? 'Online' : host.since ? 'Offline' : host.state === 'joining' ? 'It has joined and has not connected yet' : 'It has never connected';
  const state = Number.isNaN(since) ? how : `${how} for ${span(now - since)}`;
  const agents = illAgents === 0 ? '' : `${count(illAgents, 'agent')} on it ${illAgents === 1 ? 'is' : 'are'} unhealthy`;
  const wrongs = problemsOf(host).length;
  const wrong = wrongs > 0 ? `${count(wrongs, 'thing')} ${wrongs === 1 ? 'is' : 'are'} wrong` : agents ? '' : 'nothing is wrong there';
  return `${[state, replicasWords(host), wrong, agents].filter(Boolean).join('; ')}.`;
}

export function replicasWords(host: Host): string {
  if (host.replicas === 0) return 'no replica is meant to run there';
  const of = `${number(host.ready)} of ${count(host.replicas, 'replica')}`;
  // How those are that are on a host that is away is not known.
  return host.state === 'offline' && host.ready === 0 ? `${count(host.replicas, 'replica')} stranded` : `${of} ready`;
}

/** What is not told of its problems where only so many are: "and 2 more"; nothing when all are. */
export function restWords(host: Pick<Host, 'problems'>, told: number): string {
  const rest = host.problems.length - told;
  return rest > 0 ? `and ${number(rest)} more` : '';
}

/** How much of something is in use: the share for a bar, and the words beside it. null: not known. */
export interface Use {
  share: number;
  /** "62 %", and what is left for a table: "6.0 GiB free". */
  used: string;
  free: string;
  /** What is left, with its whole: "6.0 GiB of 16.0 GiB free". */
  room: string;
}

function useOf(free: number | null, total: number): Use | null {
  if (free === null || total <= 0) return null;
  const share = Math.min(1, Math.max(0, 1 - free / total));
  return { share, used: percent(share), free: `${bytes(free)} free`, room: `${bytes(free)} of ${bytes(total)} free` };
}

const percent = (share: number): string => `${Math.round(share * 100)} %`;

export function cpuUse(host: Host): Use | null {
  if (host.cpu_used === null) return null;
  const free = (1 - host.cpu_used) * host.cpus;
  return { share: host.cpu_used, used: percent(host.cpu_used), free: `${free.toFixed(1)} of ${number(host.cpus)} free`, room: `${free.toFixed(1)} of ${count(host.cpus, 'processor')} free` };
}
export const memoryUse = (host: Host): Use | null => useOf(host.memory_available_bytes, host.memory_bytes);
export const diskUse = (host: Host): Use | null => useOf(host.disk_free_bytes, host.disk_total_bytes);

/** The marks of a host: its state and what operators or a restore make of it. */
export function marksOf(host: Host): string[] {
  return [host.state, ...(host.mode === 'normal' ? [] : [host.mode]), ...(host.adopting ? ['adopting'] : [])];
}

/** Whether the text is in what people know a host by. */
export function isFound(host: Host, text: string): boolean {
  const labels = Object.entries(host.labels).map(([key, value]) => `${key}=${value}`);
  return [host.name, host.id, host.os, host.address ?? '', host.mesh_ip, ...labels].some((one) => one.toLowerCase().includes(text.trim().toLowerCase()));
}

export interface Step {
  done: boolean;
  text: string;
}

/** What happens to a machine that becomes a host; the first three as the command line shows them. */
export function steps(host: Host | null): Step[] {
  if (!host) return ['the machine joins', 'its agent connects', 'its container engine answers', 'it has applied what it was told'].map((text) => ({ done: false, text }));
  const online = host.state === 'online';
  const engine = online && host.engine !== null;
  const none = online ? ': none does yet, install Docker or start it' : '';
  return [
    { done: true, text: `joined as ${oneLine(host.name)}` },
    { done: online, text: online ? `connected from ${oneLine(host.address ?? '–')}, agent ${oneLine(host.agent_version)}` : 'its agent connects; without systemd, run there what joining printed' },
    { done: engine, text: engine ? `engine ${oneLine(host.engine ?? '')} answers` : `its container engine answers${none}` },
    { done: engine && host.in_sync, text: 'it has applied what it was told' },
  ];
}

/** For whom a token is. */
export function tokenFor(token: JoinToken): string {
  if (token.for_host) return `in place of ${token.for_host}`;
  return token.host_name || 'any machine, called as it is';
}

export const LIFETIMES = [
  { words: '1h', seconds: 3600, shown: '1 hour' },
  { words: '12h', seconds: 12 * 3600, shown: '12 hours' },
  { words: '1d', seconds: 86_400, shown: '1 day' },
  { words: '7d', seconds: 7 * 86_400, shown: '7 days' },
];

export function addCommand(name: string, expires: string, inPlaceOf: string): string {
  const whose = inPlaceOf ? ` --replace ${shellQuote(inPlaceOf)}` : name ? ` ${shellQuote(name)}` : '';
  return `muster hosts add${whose}${expires === '1h' ? '' : ` --expires ${expires}`}`;
}

/** Whether the command that makes a machine a host leads it to a server that only the server's own machine can reach. */
export function worksHereOnly(command: string): boolean {
  return /\/\/(?:127\.|localhost[:/]|\[::1\])/.test(command);
}

/** The agents of a host: those that say that they are on its machine. */
export function agentsSelector(host: Pick<Host, 'machine_id'>): string {
  return `host.id=${quoted(host.machine_id)}`;
}

/** Why it cannot be removed; null when it can. */
export function whyNotRemove(host: Host): string | null {
  if (host.replicas === 0) return null;
  if (host.replicas === 1) return '1 replica is meant to run here: remove its service, or cordon the host and deploy it elsewhere.';
  return `${count(host.replicas, 'replica')} are meant to run here: remove their services, or cordon the host and deploy them elsewhere.`;
}

/** The command that makes the same change to a host as it is. */
export function setCommand(host: Host, change: HostChange): string {
  const words = [`muster hosts set ${shellQuote(host.name)}`];
  if (change.name !== undefined) words.push(`--name ${shellQuote(change.name)}`);
  if (change.mode !== undefined) words.push(change.mode === 'cordoned' ? '--cordon' : '--uncordon');
  if (change.adopting !== undefined) words.push(`--adopting=${change.adopting}`);
  if (change.labels !== undefined) {
    for (const [key, value] of Object.entries(change.labels)) if (host.labels[key] !== value) words.push(`-l ${shellQuote(`${key}=${value}`)}`);
    for (const key of Object.keys(host.labels)) if (!(key in change.labels)) words.push(`-l ${shellQuote(`${key}-`)}`);
  }
  for (const path of change.allowed_paths ?? []) if (!host.allowed_paths.includes(path)) words.push(`--allow-path ${shellQuote(path)}`);
  for (const path of change.allowed_paths ? host.allowed_paths : []) if (!change.allowed_paths?.includes(path)) words.push(`--forbid-path ${shellQuote(path)}`);
  return words.join(' ');
}
