// Runs a refresh at most once per gap, never two at a time, and not at all while the tab is hidden. Many calls to
// soon() become one run; a call during a run makes one more run after it. With `repeatMs` it also runs by itself that
// long after the last run, as heartbeats change ages without being worth an event.

export class Paced {
  readonly #gapMs: number;
  readonly #run: () => Promise<void>;
  readonly #repeatMs: number | null;
  #wanted = false;
  #busy = false;
  #stopped = false;
  #lastEnd = 0;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #repeat: ReturnType<typeof setTimeout> | undefined;

  constructor(gapMs: number, run: () => Promise<void>, repeatMs: number | null = null) {
    this.#gapMs = gapMs;
    this.#repeatMs = repeatMs;
    this.#run = run;
    document.addEventListener('visibilitychange', this.#shown);
  }

  soon(): void {
    this.#wanted = true;
    this.#stopped = false;
    if (this.#busy || this.#timer !== null || document.hidden) return;
    const wait = Math.max(0, this.#lastEnd + this.#gapMs - Date.now());
    this.#timer = setTimeout(() => void this.#start(), wait);
  }

  /** Forgets what is waiting; soon() starts it again. */
  stop(): void {
    this.#stopped = true;
    this.#wanted = false;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    clearTimeout(this.#repeat);
  }

  /** Stops for good and lets go of the document. */
  end(): void {
    this.stop();
    document.removeEventListener('visibilitychange', this.#shown);
  }

  readonly #shown = (): void => {
    if (!document.hidden && this.#wanted) this.soon();
  };

  async #start(): Promise<void> {
    this.#timer = null;
    this.#wanted = false;
    this.#busy = true;
    clearTimeout(this.#repeat);
    try {
      await this.#run();
    } catch {
      // What is shown stays, with its age; the live mark tells of a lost server, and the next event tries again.
    }
    this.#busy = false;
    this.#lastEnd = Date.now();
    if (this.#stopped) return;
    if (this.#repeatMs !== null) this.#repeat = setTimeout(() => this.soon(), this.#repeatMs);
    if (this.#wanted) this.soon();
  }
}
