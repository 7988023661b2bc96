// Follows the lines of services: a stream for each, opened again when it breaks and when replicas come or go. What is
// kept is bounded; while it is paused, lines are kept aside.
import { api, asApiError, type Api } from './api';
import { readLines } from './lines';
import { LogBuffer, type KeptLine, type LogLine } from './log-buffer';
import { servicePath, type Service } from './services';

/** So many lines are kept, the newest. */
export const KEPT = 2000;
/** The server sends an empty line each 15 s; three missing ones mean that the stream is dead. */
const QUIET_MS = 45_000;
const FIRST_PAUSE_MS = 2000;
const LONGEST_PAUSE_MS = 15_000;
/** Lines are shown in bunches, so that a talkative service does not keep the page busy. */
const BUNCH_MS = 120;
/** A stream that is opened again repeats so much, for hosts whose lines are late. */
const OVERLAP_MS = 10_000;

export interface LogQuery {
  /** Lines of each service to begin with. */
  tail: number;
  contains: string;
}

interface Stream {
  /** The replicas that it was opened for, and whether their hosts were connected. */
  heard: string;
  abort: AbortController;
  state: 'opening' | 'open' | 'broken';
}

export class LogFollower {
  lines = $state.raw<KeptLine[]>([]);
  /** 'none': there is no replica to listen to. */
  status = $state<'connecting' | 'live' | 'lost' | 'none'>('connecting');
  /** Since when it is lost, in ms of our clock. */
  lostAt = $state<number | null>(null);
  /** What the server said about the streams since the last line. */
  notes = $state.raw<string[]>([]);
  paused = $state(false);
  /** Lines that came while it is paused. */
  waiting = $state(0);
  cut = $state(0);
  readonly #api: Pick<Api, 'lines'>;
  readonly #buffer = new LogBuffer(KEPT);
  readonly #streams = new Map<string, Stream>();
  #query: LogQuery = { tail: 100, contains: '' };
  #newest = new Map<string, string>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(client: Pick<Api, 'lines'> = api) {
    this.#api = client;
  }

  /** Another question: what was found for the one before goes. */
  ask(query: LogQuery): void {
    this.#query = query;
    this.#buffer.clear();
    this.#newest.clear();
    this.#drop(() => true);
    this.notes = [];
    this.resume();
  }

  /** Opens, closes and opens again what is needed for the services as they are. */
  adjust(services: Service[]): void {
    this.#drop((name) => !services.some((service) => service.name === name));
    for (const service of services) {
      const heard = service.replicas.map((replica) => `${replica.id} ${replica.host_online}`).sort().join('\n');
      if (this.#streams.get(service.name)?.heard === heard) continue;
      this.#drop((name) => name === service.name);
      if (heard === '') continue;
      const stream: Stream = { heard, abort: new AbortController(), state: 'opening' };
      this.#streams.set(service.name, stream);
      void this.#run(service.project, service.name, stream);
    }
    this.#judge();
  }

  pause(): void {
    this.paused = true;
  }

  resume(): void {
    this.paused = false;
    this.waiting = 0;
    this.#show();
  }

  end(): void {
    this.#drop(() => true);
    clearTimeout(this.#timer);
  }

  #drop(which: (name: string) => boolean): void {
    for (const [name, stream] of this.#streams) {
      if (!which(name)) continue;
      stream.abort.abort();
      this.#streams.delete(name);
    }
  }

  async #run(project: string, name: string, stream: Stream): Promise<void> {
    const { signal } = stream.abort;
    let pause = FIRST_PAUSE_MS;
    while (!signal.aborted) {
      try {
        const answer = await this.#api.lines(`${servicePath(project, name)}/logs?${this.#words(name)}`, signal);
        stream.state = 'open';
        this.#judge();
        if (answer.body) await readLines(answer.body, QUIET_MS, (found) => {
          pause = FIRST_PAUSE_MS;
          if (!signal.aborted) this.#take(name, found);
        });
      } catch (cause) {
        if (signal.aborted) return;
        const error = asApiError(cause);
        if (error.status === 401) return;
        if (error.status > 0) this.#note(error.message);
      }
      stream.state = 'broken';
      if (!signal.aborted) this.#judge();
      await new Promise((done) => setTimeout(done, pause));
      pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
    }
  }

  #words(name: string): URLSearchParams {
    const { tail, contains } = this.#query;
    const newest = this.#newest.get(name);
    const since = newest ? new Date(Date.parse(newest) - OVERLAP_MS).toISOString() : null;
    return new URLSearchParams({ follow: 'true', limit: String(since ? 500 : tail), ...(since ? { since } : {}), ...(contains ? { contains } : {}) });
  }

  #take(name: string, found: Record<string, unknown>[]): void {
    for (const { note } of found) if (typeof note === 'string') this.#note(note);
    const lines = found.filter(isLine);
    if (lines.length === 0) return;
    this.notes = [];
    const newest = lines.reduce((at, line) => (line.at > at ? line.at : at), this.#newest.get(name) ?? '');
    this.#newest.set(name, newest);
    const fresh = this.#buffer.add(lines);
    if (this.paused) this.waiting += fresh;
    else if (fresh > 0) this.#timer ??= setTimeout(() => this.#show(), BUNCH_MS);
  }

  #note(text: string): void {
    if (!this.notes.includes(text)) this.notes = [...this.notes, text].slice(-4);
  }

  #show(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.paused) return;
    this.lines = this.#buffer.lines;
    this.cut = this.#buffer.cut;
  }

  #judge(): void {
    const states = [...this.#streams.values()].map((stream) => stream.state);
    if (states.length === 0) this.status = 'none';
    else if (states.includes('broken')) this.status = 'lost';
    else this.status = states.includes('opening') ? 'connecting' : 'live';
    if (this.status !== 'lost') this.lostAt = null;
    else this.lostAt ??= Date.now();
  }
}

function isLine(found: Record<string, unknown>): found is Record<string, unknown> & LogLine {
  return ['at', 'replica', 'host', 'stream', 'text'].every((field) => typeof found[field] === 'string');
}
