// Something read from the server and read again when a hint says that it may have changed. What is shown stays while it
// is read anew, and also when that fails: then the error stands beside it.
import { asApiError, type ApiError } from './api';
import { live, type Live, type Topic } from './live.svelte';
import { Paced } from './paced';

export class Watched<T> {
  value = $state.raw<T | null>(null);
  error = $state.raw<ApiError | null>(null);
  readonly #read: () => Promise<T>;
  readonly #paced: Paced;
  readonly #live: Live;

  constructor(read: () => Promise<T>, { gapMs = 500, from = live }: { gapMs?: number; from?: Live } = {}) {
    this.#read = read;
    this.#live = from;
    this.#paced = new Paced(gapMs, () => this.now(), 30_000);
  }

  /** Reads at once, then on hints about the topics; a topic with an id only on hints about that one. */
  follow(...topics: (Topic | [Topic, string])[]): () => void {
    this.#paced.soon();
    const leave = topics.map((wanted) => {
      const [topic, id] = typeof wanted === 'string' ? [wanted, null] : wanted;
      return this.#live.listen((ids) => {
        if (id === null || ids === null || ids.includes(id)) this.#paced.soon();
      }, topic);
    });
    return () => {
      for (const one of leave) one();
      this.#paced.end();
    };
  }

  soon(): void {
    this.#paced.soon();
  }

  async now(): Promise<void> {
    try {
      this.value = await this.#read();
      this.error = null;
    } catch (cause) {
      this.error = asApiError(cause);
    }
  }
}
