// The keyboard: which keys do what, and the two-key sequences ("g a"). What each action means is App.svelte's.

export type KeyAction = 'search' | 'help' | 'escape' | 'down' | 'up' | 'first' | 'last' | `/${string}`;

/** For the help dialog; separate keys are parted by a space. */
export const KEYS = [
  { keys: '/', does: 'search' },
  { keys: '↓ ↑', does: 'next and previous row of a table; Enter opens it' },
  { keys: 'Home End', does: 'first and last row' },
  { keys: 'g o', does: 'go to the overview' },
  { keys: 'g a', does: 'go to the agents' },
  { keys: 'g c', does: 'go to the configurations' },
  { keys: 'g r', does: 'go to the assignments and their rollouts' },
  { keys: 'g h', does: 'go to the hosts' },
  { keys: 'g s', does: 'go to the services' },
  { keys: 'g y', does: 'go to the activity' },
  { keys: 'g t', does: 'go to the settings' },
  { keys: 'g n', does: 'how to connect an agent' },
  { keys: 'Esc', does: 'close, clear the search, or go one level up' },
  { keys: '?', does: 'this list' },
];

const SINGLE: Record<string, KeyAction> = {
  '/': 'search',
  '?': 'help',
  Escape: 'escape',
  ArrowDown: 'down',
  ArrowUp: 'up',
  Home: 'first',
  End: 'last',
};
const AFTER_G: Record<string, KeyAction> = {
  o: '/', a: '/agents', c: '/configs', r: '/assignments', h: '/hosts', s: '/services', y: '/activity', t: '/settings', n: '/connect',
};
/** A sequence that is not finished in this time is forgotten. */
const SEQUENCE_MS = 5000;

export interface Press {
  key: string;
  /** Whether a modifier other than shift is held; those are the browser's. */
  modified: boolean;
  /** Whether the key goes into a field that takes text. */
  typing: boolean;
  at: number;
}

export class KeyReader {
  #gAt = -Infinity;

  read(press: Press): KeyAction | null {
    if (press.modified) return null;
    if (press.typing) return press.key === 'Escape' ? 'escape' : null;
    const sequence = press.at - this.#gAt < SEQUENCE_MS;
    this.#gAt = -Infinity;
    if (sequence && AFTER_G[press.key]) return AFTER_G[press.key] ?? null;
    if (press.key === 'g') this.#gAt = press.at;
    return SINGLE[press.key] ?? null;
  }
}

/** Whether the element takes text, so that letters belong to it. */
export function takesText(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return !['checkbox', 'radio', 'button', 'submit'].includes(target.type);
  return target.isContentEditable || ['TEXTAREA', 'SELECT'].includes(target.tagName);
}
