// The typed client of /api/v1: one function per call, the shapes as the server sends them, and one error type.
// It knows nothing of pages; live events are in events.ts.

export type AgentState = 'connected' | 'silent' | 'disconnected' | 'pending approval';
export type HealthWord = 'healthy' | 'unhealthy' | 'unknown';
export type ConfigWord = 'unset' | 'applied' | 'applying' | 'failed';

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
  remote_config: { status: ConfigWord; error: string | null } | null;
  capabilities: string[];
  replaced_by: string | null;
  replaces: string | null;
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
}

export interface AgentPage {
  items: AgentSummary[];
  next_cursor: string | null;
  total: number;
}

export interface Overview {
  version: string;
  uptime_seconds: number;
  agents: { connected: number; silent: number; disconnected: number; unhealthy: number; total: number };
  ca_fingerprint: string | null;
  opamp_endpoint: string | null;
  public_url: string | null;
}

/** An enrolment token just made; its text is in this answer and nowhere else. */
export interface CreatedToken {
  id: number;
  label: string;
  expires_at: string | null;
  token: string;
}

export interface Session {
  user: { name: string; role: string };
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

  constructor(status: number, title: string, detail: string, field: string | null = null, retryAfter: number | null = null) {
    super(detail);
    this.status = status;
    this.title = title;
    this.field = field;
    this.retryAfter = retryAfter;
  }
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

  #keep(session: Session): Session {
    this.#csrf = session.csrf;
    return session;
  }

  async #call<T>(method: string, path: string, body?: unknown, needsSession = true): Promise<T> {
    const headers: Record<string, string> = { accept: 'application/json' };
    if (body !== undefined) headers['content-type'] = 'application/json';
    if (method !== 'GET' && this.#csrf) headers['x-csrf-token'] = this.#csrf;
    const init: RequestInit = { method, headers, cache: 'no-store', credentials: 'same-origin' };
    if (body !== undefined) init.body = JSON.stringify(body);
    const answer = await this.#checked(await this.#send(path, init), needsSession);
    if (answer.status === 204) return undefined as T;
    try {
      return (await answer.json()) as T;
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
  );
}

export const api = new Api();
