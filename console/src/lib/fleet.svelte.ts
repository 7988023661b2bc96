// The figures of the overview, kept fresh by events. One request at a time and at most one in two seconds, however many
// agents change.
import { api, type Overview } from './api';
import { live } from './live.svelte';
import { Paced } from './paced';

class Fleet {
  overview = $state<Overview | null>(null);
  readonly #paced = new Paced(2000, async () => void (this.overview = await api.overview()), 15_000);

  /** Starts following; the returned function stops it. */
  follow(): () => void {
    this.#paced.soon();
    const leave = (['agents', 'assignments'] as const).map((topic) => live.listen(() => this.#paced.soon(), topic));
    return () => {
      for (const one of leave) one();
      this.#paced.stop();
    };
  }

  refresh(): void {
    this.#paced.soon();
  }
}

export const fleet = new Fleet();
