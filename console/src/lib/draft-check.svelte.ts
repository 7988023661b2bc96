// Asks the server what is wrong with a draft, a little after the last letter, and drops answers to older questions.
import { configs, type DraftFile, type Problem } from './configs';

const PAUSE_MS = 400;

export class DraftCheck {
  problems = $state.raw<Problem[]>([]);
  state = $state<'checked' | 'checking' | 'unchecked' | 'empty'>('checking');
  readonly #ask: typeof configs.check;
  #turn = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(ask: typeof configs.check = configs.check) {
    this.#ask = ask;
  }

  /** Whether there is something that keeps the draft from being saved. */
  get broken(): boolean {
    return this.problems.some((one) => one.severity === 'error');
  }

  soon(files: DraftFile[]): void {
    const turn = ++this.#turn;
    clearTimeout(this.#timer);
    // Nothing is there that could be wrong yet.
    if (files.every((file) => file.body.trim() === '')) {
      [this.problems, this.state] = [[], 'empty'];
      return;
    }
    this.state = 'checking';
    this.#timer = setTimeout(() => void this.#run(turn, files), PAUSE_MS);
  }

  end(): void {
    this.#turn += 1;
    clearTimeout(this.#timer);
  }

  async #run(turn: number, files: DraftFile[]): Promise<void> {
    try {
      const { problems } = await this.#ask(files);
      if (turn !== this.#turn) return;
      this.problems = problems;
      this.state = 'checked';
    } catch {
      if (turn === this.#turn) this.state = 'unchecked';
    }
  }
}
