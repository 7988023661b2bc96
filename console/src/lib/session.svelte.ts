// Who is signed in. The cookie itself is out of reach of script; this holds what the server says about it.
import { api, ApiError, type Role, type Session } from './api';
import { live } from './live.svelte';

const ROLES: Role[] = ['viewer', 'operator', 'admin'];

class SessionState {
  /** 'asking' until the server has said whether the cookie still holds. */
  phase = $state<'asking' | 'out' | 'in' | 'unreachable'>('asking');
  user = $state<Session['user'] | null>(null);
  /** Why the sign-in page is shown to somebody who was in. */
  note = $state('');

  constructor() {
    api.onSignedOut = () => this.#out(this.phase === 'in' ? 'Your session has ended. Sign in again to go on.' : '');
  }

  /** Why somebody with this role may not do what needs another one; null when they may. */
  whyNot(needs: Role): string | null {
    const mine = this.user?.role ?? 'viewer';
    if (ROLES.indexOf(mine) >= ROLES.indexOf(needs)) return null;
    return `This needs the role ${needs}; you are signed in as ${mine}.`;
  }

  async ask(): Promise<void> {
    try {
      this.#in(await api.session());
    } catch (error) {
      if (error instanceof ApiError && (error.status === 401 || error.status === 403)) this.#out('');
      else this.phase = 'unreachable';
    }
  }

  async signIn(username: string, password: string): Promise<void> {
    this.#in(await api.signIn(username, password));
  }

  async signOut(): Promise<void> {
    await api.signOut();
    this.#out('You are signed out.');
  }

  #in(session: Session): void {
    this.user = session.user;
    this.note = '';
    this.phase = 'in';
    live.start();
  }

  #out(note: string): void {
    live.stop();
    this.user = null;
    this.note = note;
    this.phase = 'out';
  }
}

export const session = new SessionState();
