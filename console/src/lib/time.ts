// Times as people read them: ages in words, absolute times always with their zone. Pure; the ticking is clock.svelte.ts.

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** A length of time in its largest fitting unit: "4 s", "3 min", "2 h", "5 d". */
export function span(ms: number): string {
  const length = Math.max(0, ms);
  if (length < MINUTE) return `${Math.floor(length / SECOND)} s`;
  if (length < HOUR) return `${Math.floor(length / MINUTE)} min`;
  if (length < 2 * DAY) return `${Math.floor(length / HOUR)} h`;
  return `${Math.floor(length / DAY)} d`;
}

/** How long ago an RFC 3339 time was; null for a time that cannot be read. */
export function ago(time: string, now: number): string | null {
  const at = Date.parse(time);
  if (Number.isNaN(at)) return null;
  // The server's clock and ours are compared to the second only, so "in 0 s" would be noise.
  if (at > now + MINUTE) return `in ${span(at - now)}`;
  return now - at < SECOND ? 'now' : `${span(now - at)} ago`;
}

/** "2026-11-30 04:15:01 UTC+01:00", in the zone of the browser; `exact`: to the millisecond. */
export function absolute(time: string, exact = false): string | null {
  const at = new Date(time);
  if (Number.isNaN(at.getTime())) return null;
  const offset = -at.getTimezoneOffset();
  const local = new Date(at.getTime() + offset * MINUTE).toISOString();
  return `${local.slice(0, 10)} ${local.slice(11, exact ? 23 : 19)} ${zone(offset)}`;
}

function zone(offsetMinutes: number): string {
  if (offsetMinutes === 0) return 'UTC';
  const size = Math.abs(offsetMinutes);
  const two = (value: number): string => String(value).padStart(2, '0');
  return `UTC${offsetMinutes < 0 ? '-' : '+'}${two(Math.floor(size / 60))}:${two(size % 60)}`;
}
