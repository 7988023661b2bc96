// The rows of the Agents page. load() replaces them; refresh() brings them up to date in place, so that nothing moves
// under the pointer: rows keep their order, agents that are new are counted and shown when asked for.
import { ApiError, asApiError, type AgentPage, type AgentSummary, type Api } from './api';
import { apiQuery, type AgentQuery } from './agent-query';

export interface Row {
  agent: AgentSummary;
  /** The server no longer knows this agent. */
  forgotten: boolean;
}

/** How many rows that left the list are asked for one by one in a refresh. */
const MOST_LOOKUPS = 20;

export class AgentList {
  rows = $state.raw<Row[]>([]);
  total = $state(0);
  nextCursor = $state<string | null>(null);
  /** Agents that match and are not among the rows. */
  fresh = $state(0);
  loading = $state(true);
  error = $state<ApiError | null>(null);
  /** Whether total is the answer to the question now asked. */
  counted = $state(false);
  readonly #api: Api;
  #query = '';
  /** Raised by every load, so that a slow answer to an older question is dropped. */
  #turn = 0;

  constructor(client: Api) {
    this.#api = client;
  }

  async load(query: AgentQuery): Promise<void> {
    const turn = ++this.#turn;
    this.#query = apiQuery(query);
    this.loading = true;
    this.counted = false;
    try {
      const page = await this.#api.agents(this.#query);
      if (turn === this.#turn) this.#show(page);
    } catch (error) {
      if (turn === this.#turn) this.#refused(asApiError(error));
    } finally {
      if (turn === this.#turn) this.loading = false;
    }
  }

  /** Brings the rows up to date without adding, removing or moving any. */
  async refresh(): Promise<void> {
    const turn = this.#turn;
    if (this.error || this.loading) return;
    const page = await this.#api.agents(this.#query);
    const found = new Map(page.items.map((agent) => [agent.instance_uid, agent]));
    const left = this.rows.filter((row) => !row.forgotten && !found.has(row.agent.instance_uid));
    const looked = await this.#lookUp(left.slice(0, MOST_LOOKUPS));
    if (turn !== this.#turn) return;
    // Nothing to lose the place in: an empty list fills by itself.
    if (this.rows.length === 0) return this.#show(page);
    const shown = new Set(this.rows.map((row) => row.agent.instance_uid));
    this.rows = this.rows.map((row) => {
      const uid = row.agent.instance_uid;
      const agent = found.get(uid);
      return agent ? { agent, forgotten: false } : (looked.get(uid) ?? row);
    });
    this.total = page.total;
    this.nextCursor = page.next_cursor;
    this.fresh = page.items.filter((agent) => !shown.has(agent.instance_uid)).length;
  }

  /** Whether a hint is about anything on this page. */
  concerns(uids: string[] | null): boolean {
    return uids === null || this.rows.length === 0 || this.rows.some((row) => uids.includes(row.agent.instance_uid));
  }

  #show(page: AgentPage): void {
    this.rows = page.items.map((agent) => ({ agent, forgotten: false }));
    this.total = page.total;
    this.nextCursor = page.next_cursor;
    this.fresh = 0;
    this.error = null;
    this.counted = true;
  }

  /** Rows of an older question are no answer to one that cannot be read; while the server is away, they are what is known. */
  #refused(error: ApiError): void {
    this.error = error;
    if (error.status !== 400) return;
    this.rows = [];
    this.total = 0;
    this.nextCursor = null;
    this.fresh = 0;
  }

  async #lookUp(rows: Row[]): Promise<Map<string, Row>> {
    const pairs = await Promise.all(
      rows.map(async (row): Promise<[string, Row]> => {
        const uid = row.agent.instance_uid;
        try {
          return [uid, { agent: await this.#api.agent(uid), forgotten: false }];
        } catch (error) {
          const gone = error instanceof ApiError && error.status === 404;
          return [uid, gone ? { ...row, forgotten: true } : row];
        }
      }),
    );
    return new Map(pairs);
  }
}
