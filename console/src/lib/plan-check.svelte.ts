// Asks the server what a deployment would do, a little after the last letter, and drops answers to older questions.
import { services } from './services';
import { outlookOf, outlookOfError, wishOf, type Given, type Outlook } from './wish';

const PAUSE_MS = 400;
const NOTHING: Outlook = { plan: null, problems: [], faults: [], error: null };

export class PlanCheck {
  outlook = $state.raw<Outlook>(NOTHING);
  state = $state<'checked' | 'checking' | 'unchecked' | 'empty'>('empty');
  readonly #ask: typeof services.plan;
  #turn = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(ask: typeof services.plan = services.plan) {
    this.#ask = ask;
  }

  soon(project: string, text: string, given: Given, force: boolean): void {
    const turn = ++this.#turn;
    clearTimeout(this.#timer);
    if (text.trim() === '' || project === '') {
      this.outlook = NOTHING;
      this.state = 'empty';
      return;
    }
    this.state = 'checking';
    this.#timer = setTimeout(() => void this.#run(turn, project, text, given, force), PAUSE_MS);
  }

  end(): void {
    this.#turn += 1;
    clearTimeout(this.#timer);
  }

  async #run(turn: number, project: string, text: string, given: Given, force: boolean): Promise<void> {
    const outlook = await this.#ask(project, wishOf(text, given, '', force)).then(outlookOf, outlookOfError);
    if (turn !== this.#turn) return;
    this.outlook = outlook;
    this.state = outlook.error ? 'unchecked' : 'checked';
  }
}
