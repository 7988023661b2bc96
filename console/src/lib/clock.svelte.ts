// The ticking clock behind every age on the screen: one timer for the whole tab, in the server's time.
import { api } from './api';

class Clock {
  /** The server's time in ms, good to a second. */
  now = $state(Date.now());

  constructor() {
    setInterval(() => this.tick(), 1000);
  }

  tick(): void {
    // A hidden tab keeps still; the first tick after it is shown again puts every age right.
    if (!document.hidden) this.now = Date.now() + api.skew;
  }
}

export const clock = new Clock();
