// Addresses of pages: the current one as reactive state, moving to another, and links that move without a reload.

export type Route =
  | { page: 'agents' }
  | { page: 'agent'; uid: string }
  | { page: 'connect' }
  | { page: 'missing' };

class Router {
  path = $state(window.location.pathname);
  search = $state(window.location.search);

  constructor() {
    window.addEventListener('popstate', () => this.#read());
  }

  /** Goes to another page; with `replace` the current one leaves no trace in the history. */
  go(href: string, replace = false): void {
    if (replace) window.history.replaceState(null, '', href);
    else window.history.pushState(null, '', href);
    this.#read();
  }

  #read(): void {
    this.path = window.location.pathname;
    this.search = window.location.search;
  }
}

export const router = new Router();

export function routeOf(path: string): Route {
  const [first, second, ...rest] = path.split('/').filter(Boolean);
  if (first === undefined) return { page: 'agents' };
  if (first === 'agents' && second === undefined) return { page: 'agents' };
  const uid = first === 'agents' && rest.length === 0 ? decoded(second ?? '') : null;
  if (uid) return { page: 'agent', uid };
  if (first === 'connect' && second === undefined) return { page: 'connect' };
  return { page: 'missing' };
}

export function agentHref(uid: string): string {
  return `/agents/${encodeURIComponent(uid)}`;
}

/** Turns a plain left click on a link of ours into a move without reload; every other click stays the browser's. */
export function followLink(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0) return;
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = event.target instanceof Element ? event.target.closest('a') : null;
  if (!link || link.target || link.origin !== window.location.origin) return;
  if (link.pathname.startsWith('/api/') || link.getAttribute('href')?.startsWith('#')) return;
  event.preventDefault();
  router.go(link.pathname + link.search);
}

function decoded(part: string): string | null {
  try {
    return decodeURIComponent(part);
  } catch {
    return null;
  }
}
