// The one live stream of the tab: keeps it open, says whether it is, and tells pages what changed. Events are
// hints without content: pages read the API again, so a missed event costs nothing once the stream is back.
import { api, ApiError, type Api } from './api';
import { readEvents, type StreamEvent } from './events';

/** Which things changed (agents by uid; assignments and hosts by id; configurations and projects by name); null means "anything may have". */
export type Listener = (ids: string[] | null) => void;
/** What a hint can be about, with the field of its data that names the things. */
const FIELDS = { agents: 'uids', assignments: 'ids', configs: 'names', hosts: 'names', projects: 'names' };
export type Topic = keyof typeof FIELDS;

/** The server sends a comment each 15 s; three missing ones mean that the stream is dead. */
const QUIET_MS = 45_000;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 15_000;

export class Live {
  status = $state<'connecting' | 'live' | 'lost'>('connecting');
  /** When the stream was lost, in ms of our clock. */
  lostAt = $state<number | null>(null);
  readonly #api: Api;
  readonly #listeners = new Set<{ topic: Topic; listener: Listener }>();
  #stop: AbortController | null = null;
  #lastId: string | null = null;

  constructor(client: Api) {
    this.#api = client;
  }

  listen(listener: Listener, topic: Topic = 'agents'): () => void {
    const entry = { topic, listener };
    this.#listeners.add(entry);
    return () => this.#listeners.delete(entry);
  }

  start(): void {
    if (this.#stop) return;
    this.#stop = new AbortController();
    void this.#run(this.#stop.signal);
  }

  stop(): void {
    this.#stop?.abort();
    this.#stop = null;
    this.status = 'connecting';
    this.lostAt = null;
    this.#lastId = null;
  }

  async #run(signal: AbortSignal): Promise<void> {
    let pause = FIRST_PAUSE_MS;
    while (!signal.aborted) {
      const opened = await this.#follow(signal);
      if (signal.aborted || opened === 'refused') return;
      if (this.lostAt === null) this.lostAt = Date.now();
      this.status = 'lost';
      pause = opened === 'was open' ? FIRST_PAUSE_MS : Math.min(pause * 2, LONGEST_PAUSE_MS);
      // Spread out, so that the tabs of a whole office do not come back in the same instant.
      await sleep(pause * (0.5 + Math.random() / 2), signal);
    }
  }

  /** Holds one stream until it ends and says how far it came. */
  async #follow(signal: AbortSignal): Promise<'was open' | 'failed' | 'refused'> {
    let open = false;
    try {
      const answer = await this.#api.events(this.#lastId, signal);
      if (!answer.body) return 'failed';
      open = true;
      this.#opened();
      await readEvents(answer.body, QUIET_MS, (event) => this.#take(event));
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) return 'refused';
    }
    return open ? 'was open' : 'failed';
  }

  #opened(): void {
    const healed = this.status === 'lost';
    this.status = 'live';
    this.lostAt = null;
    if (healed) this.#tellAll();
  }

  #take(event: StreamEvent): void {
    if (event.id) this.#lastId = event.id;
    if (event.event === 'reset') this.#tellAll();
    if (isTopic(event.event)) this.#tell(event.event, idsOf(event.data, FIELDS[event.event]));
  }

  #tell(topic: Topic, ids: string[] | null): void {
    for (const entry of this.#listeners) if (entry.topic === topic) entry.listener(ids);
  }

  #tellAll(): void {
    for (const { listener } of this.#listeners) listener(null);
  }
}

function isTopic(event: string): event is Topic {
  return Object.hasOwn(FIELDS, event);
}

function idsOf(data: string, field: string): string[] | null {
  try {
    const ids: unknown = JSON.parse(data)[field];
    return Array.isArray(ids) ? ids.filter((id) => typeof id === 'string') : null;
  } catch {
    return null;
  }
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true });
  });
}

export const live = new Live(api);
