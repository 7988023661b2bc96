// The typed client of /api/v1: one function per call, the shapes as the server sends them, and one error type.
// It knows nothing of pages; live events are in events.ts.

export type AgentState = 'connected' | 'silent' | 'disconnected' | 'pending approval';
export type HealthWord = 'healthy' | 'unhealthy' | 'unknown';
export type ConfigState = 'in sync' | 'offered' | 'applying' | 'failed' | 'drifted' | 'not configurable' | 'unmanaged';
export type Role = 'viewer' | 'operator' | 'admin';

/** Where an agent stands with its configuration. */
export interface Standing {
  state: ConfigState;
  config: string | null;
  revision: number | null;
  /** The assignment it has its configuration from. */
  assignment: string | null;
  /** Whether it is pinned to it instead. */
  override: boolean;
  reason: string | null;
}

export interface AgentSummary {
  instance_uid: string;
  name: string | null;
  namespace: string | null;
  version: string | null;
  instance_id: string | null;
  host: string | null;
  os: string | null;
  state: AgentState;
  transport: string | null;
  peer_address: string | null;
  connected_since: string | null;
  last_seen: string | null;
  healthy: boolean | null;
  health_status: string | null;
  remote_config: { status: string; error: string | null } | null;
  capabilities: string[];
  replaced_by: string | null;
  replaces: string | null;
  labels: Record<string, string>;
  config: Standing;
}

/** A reported attribute; `type` says how the agent typed it, `value` is its JSON form (int as decimal text, bytes as base64). */
export interface Attribute {
  key: string;
  type: string;
  value: unknown;
}

export interface Health {
  healthy: boolean;
  status?: string | null;
  last_error?: string | null;
  start_time?: string | null;
  status_time?: string | null;
  attributes?: Attribute[];
  components?: Record<string, Health>;
}

export interface ConfigFile {
  name: string;
  content_type: string | null;
  body: string;
  redacted: boolean;
  encoding: 'utf8' | 'base64';
}

export interface AgentDetail extends AgentSummary {
  description: { identifying: Attribute[]; non_identifying: Attribute[] } | null;
  /** Decimal text: 64 bits do not fit a JSON number. */
  capability_bits: string;
  unknown_capability_bits: string;
  health: Health | null;
  effective_config: { files: ConfigFile[]; hash: string | null } | null;
  components: { hash: string | null; tree: unknown } | null;
  package_statuses: unknown;
  connection_settings_status: unknown;
  custom_capabilities: string[];
  remote_config_status: { hash: string | null; status: string; error: string | null } | null;
  sequence_num: number | null;
  enrolled_at: string | null;
  credential: { id: number; label: string } | null;
  first_seen: string | null;
  offered: { config: string; revision: number; hash: string; files: ConfigFile[] } | null;
  /** Values that the agent runs otherwise than they were offered. */
  drift: { path: string; offered: string; effective: string | null }[] | null;
}

/** An assignment of a configuration to the agents that match a selector, and how far it is. */
export interface Assignment {
  id: string;
  config: string;
  selector: string;
  priority: number;
  state: 'rolling' | 'paused' | 'done' | 'aborted' | 'clearing';
  /** Where it leads to, or has led to. */
  revision: number;
  /** What everybody who matches gets who is not yet released. */
  settled_revision: number | null;
  batch_percent: number;
  pause: { kind: 'failed' | 'health lost' | 'no answer' | 'left' | 'operator'; agent: string | null; agent_name?: string | null; host?: string | null; text: string } | null;
  progress: {
    matched: number; eligible: number; released: number; applied: number; applying: number; failed: number; waiting: number; offline: number;
    incapable: number; outranked: number;
  };
  created_by: string;
  created_at: string;
  updated_at: string;
}

export type AgentPage = Page<AgentSummary>;

export interface Overview {
  version: string;
  uptime_seconds: number;
  agents: { connected: number; silent: number; disconnected: number; unhealthy: number; total: number };
  ca_fingerprint: string | null;
  opamp_endpoint: string | null;
  public_url: string | null;
  config?: Record<'in_sync' | 'offered' | 'applying' | 'failed' | 'drifted' | 'not_configurable' | 'unmanaged', number>;
  rollouts?: Assignment[];
  versions?: { name: string | null; version: string | null; agents: number }[];
  failures?: { error: string; agents: number; example: string }[];
}

/** A page of a list. */
export interface Page<T> {
  items: T[];
  next_cursor: string | null;
  total: number;
}

/** A thing that can change, with the version to send back when changing it. */
export interface Tagged<T> {
  value: T;
  etag: string | null;
  status: number;
}

/** An enrolment token just made; its text is in this answer and nowhere else. */
export interface CreatedToken {
  id: string;
  label: string;
  expires_at: string | null;
  token: string;
}

export interface Session {
  user: { name: string; role: Role };
  csrf: string;
  expires_at: string;
}

/** What went wrong with a call. `status` 0 means that no answer came at all. */
export class ApiError extends Error {
  readonly status: number;
  readonly title: string;
  /** The query parameter or body field that is at fault, where the server names one. */
  readonly field: string | null;
  /** Seconds the server asks to wait, from Retry-After. */
  readonly retryAfter: number | null;
  /** The whole problem document. */
  readonly said: Record<string, unknown>;

  constructor(
    status: number, title: string, detail: string, field: string | null = null, retryAfter: number | null = null, said: Record<string, unknown> = {},
  ) {
    super(detail);
    this.status = status;
    this.title = title;
    this.field = field;
    this.retryAfter = retryAfter;
    this.said = said;
  }
}

/** Whatever was thrown, as the one error that pages show. */
export function asApiError(cause: unknown): ApiError {
  return cause instanceof ApiError ? cause : new ApiError(0, 'fault in the console', String(cause));
}

type Fetch = (input: string, init?: RequestInit) => Promise<Response>;

export class Api {
  readonly base = '/api/v1';
  /** How far the server's clock is ahead of ours, in ms; ages are told by the server's clock. */
  skew = 0;
  /** Called when the server no longer knows our session. */
  onSignedOut: () => void = () => {};
  #csrf = '';
  readonly #fetch: Fetch;

  constructor(fetcher: Fetch = (input, init) => fetch(input, init)) {
    this.#fetch = fetcher;
  }

  async session(): Promise<Session> {
    return this.#keep(await this.#call<Session>('GET', '/session', undefined, false));
  }

  async signIn(username: string, password: string): Promise<Session> {
    return this.#keep(await this.#call<Session>('POST', '/session', { username, password }, false));
  }

  async signOut(): Promise<void> {
    await this.#call<void>('DELETE', '/session');
  }

  overview(): Promise<Overview> {
    return this.#call('GET', '/overview');
  }

  /** `query` is the query string as queryString in agent-query.ts makes it, without the question mark. */
  agents(query: string): Promise<AgentPage> {
    return this.#call('GET', query ? `/agents?${query}` : '/agents');
  }

  /** The keys of attributes and labels that some agent has. */
  attributeKeys(): Promise<{ items: string[] }> {
    return this.#call('GET', '/agents/attribute-keys?limit=500');
  }

  agent(uid: string): Promise<AgentDetail> {
    return this.#call('GET', `/agents/${encodeURIComponent(uid)}`);
  }

  forget(uid: string): Promise<void> {
    return this.#call('DELETE', `/agents/${encodeURIComponent(uid)}`);
  }

  createToken(label: string, expiresInSeconds: number): Promise<CreatedToken> {
    return this.#call('POST', '/tokens', { label, expires_in_seconds: expiresInSeconds });
  }

  /** Opens the event stream; the caller reads its body. */
  async events(lastId: string | null, signal: AbortSignal): Promise<Response> {
    const headers: Record<string, string> = { accept: 'text/event-stream' };
    if (lastId) headers['last-event-id'] = lastId;
    return this.#checked(await this.#send('/events', { headers, signal, cache: 'no-store' }), true);
  }

  /** Opens a stream of lines; the caller reads its body. */
  async lines(path: string, signal: AbortSignal): Promise<Response> {
    return this.#checked(await this.#send(path, { headers: { accept: 'application/x-ndjson' }, signal, cache: 'no-store' }), true);
  }

  #keep(session: Session): Session {
    this.#csrf = session.csrf;
    return session;
  }

  get<T>(path: string): Promise<T> {
    return this.#call('GET', path);
  }

  /** Reads a thing together with its version. */
  tagged<T>(path: string): Promise<Tagged<T>> {
    return this.#exchange('GET', path, undefined, {}, true);
  }

  /**
   * Changes something. With an etag only if nobody else has changed it meanwhile. A POST carries a key of its own, so
   * that it can be sent once more when its answer was lost on the way.
   */
  async write<T>(method: 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, body?: unknown, etag: string | null = null): Promise<Tagged<T>> {
    const headers: Record<string, string> = etag ? { 'if-match': etag } : {};
    if (method !== 'POST') return this.#exchange(method, path, body, headers, true);
    headers['idempotency-key'] = randomKey();
    try {
      return await this.#exchange<T>(method, path, body, headers, true);
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 0) throw error;
      return this.#exchange(method, path, body, headers, true);
    }
  }

  async #call<T>(method: string, path: string, body?: unknown, needsSession = true): Promise<T> {
    return (await this.#exchange<T>(method, path, body, {}, needsSession)).value;
  }

  async #exchange<T>(method: string, path: string, body: unknown, more: Record<string, string>, needsSession: boolean): Promise<Tagged<T>> {
    const headers: Record<string, string> = { accept: 'application/json', ...more };
    if (body !== undefined) headers['content-type'] = 'application/json';
    if (method !== 'GET' && this.#csrf) headers['x-csrf-token'] = this.#csrf;
    const init: RequestInit = { method, headers, cache: 'no-store', credentials: 'same-origin' };
    if (body !== undefined) init.body = JSON.stringify(body);
    const answer = await this.#checked(await this.#send(path, init), needsSession);
    const tagged = { etag: answer.headers.get('etag'), status: answer.status };
    if (answer.status === 204) return { ...tagged, value: undefined as T };
    try {
      return { ...tagged, value: (await answer.json()) as T };
    } catch {
      throw new ApiError(answer.status, 'unreadable answer', `the answer to ${method} ${this.base}${path} is not JSON`);
    }
  }

  async #send(path: string, init: RequestInit): Promise<Response> {
    try {
      return await this.#fetch(this.base + path, init);
    } catch (cause) {
      if (init.signal?.aborted) throw cause;
      throw new ApiError(0, 'no answer', 'the server does not answer; is it running, and is the network up?');
    }
  }

  async #checked(answer: Response, needsSession: boolean): Promise<Response> {
    this.#readClock(answer);
    if (answer.ok) return answer;
    if (answer.status === 401 && needsSession) this.onSignedOut();
    throw await problem(answer);
  }

  #readClock(answer: Response): void {
    const served = Date.parse(answer.headers.get('date') ?? '');
    if (Number.isNaN(served)) return;
    // The header has whole seconds, so a small difference means nothing.
    const ahead = served - Date.now();
    this.skew = Math.abs(ahead) > 2500 ? ahead : 0;
  }
}

/** 128 random bits as hex. Not randomUUID, which browsers keep from consoles that are reached over plain HTTP. */
function randomKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Reads an application/problem+json body; an answer of another shape (a proxy's page) is told by its status. */
async function problem(answer: Response): Promise<ApiError> {
  const body: unknown = await answer.json().catch(() => null);
  const said = (typeof body === 'object' && body !== null ? body : {}) as Record<string, unknown>;
  const text = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);
  const title = text(said.title) ?? `HTTP ${answer.status}`;
  const wait = Number(answer.headers.get('retry-after') ?? NaN);
  return new ApiError(
    answer.status,
    title,
    text(said.detail) ?? title,
    text(said.field),
    Number.isFinite(wait) ? wait : null,
    said,
  );
}

export const api = new Api();
