// Addresses of pages: the current one as reactive state, moving to another, and links that move without a reload.

export type Route =
  | { page: 'overview' | 'agents' | 'configs' | 'new-config' | 'assignments' | 'new-assignment' | 'activity' | 'settings' | 'connect' | 'missing' }
  | { page: 'hosts' | 'add-host' | 'services' | 'logs' | 'deploy' | 'deployments' }
  | { page: 'agent'; uid: string }
  | { page: 'config' | 'edit'; name: string }
  | { page: 'revision'; name: string; number: number }
  | { page: 'assignment' | 'deployment'; id: string }
  | { page: 'host'; host: string }
  | { page: 'project'; project: string }
  | { page: 'service'; project: string; service: string };

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

/** Pages with an address of one word. */
const PLAIN: Record<string, Route> = {
  agents: { page: 'agents' },
  configs: { page: 'configs' },
  'new-config': { page: 'new-config' },
  assignments: { page: 'assignments' },
  'new-assignment': { page: 'new-assignment' },
  hosts: { page: 'hosts' },
  services: { page: 'services' },
  logs: { page: 'logs' },
  deploy: { page: 'deploy' },
  deployments: { page: 'deployments' },
  activity: { page: 'activity' },
  settings: { page: 'settings' },
  connect: { page: 'connect' },
};

export function routeOf(path: string): Route {
  const parts = path.split('/').filter(Boolean).map(decoded);
  const [first, second, third, fourth, ...rest] = parts;
  if (first === undefined) return { page: 'overview' };
  if (first === null || rest.length > 0 || parts.includes(null)) return { page: 'missing' };
  if (!second) return PLAIN[first] ?? { page: 'missing' };
  if (first === 'configs' && third === 'revisions' && /^\d{1,9}$/.test(fourth ?? '')) return { page: 'revision', name: second, number: Number(fourth) };
  if (first === 'configs' && third === 'edit' && fourth === undefined) return { page: 'edit', name: second };
  if (first === 'services' && third && fourth === undefined) return { page: 'service', project: second, service: third };
  if (third !== undefined) return { page: 'missing' };
  if (first === 'hosts') return second === 'add' ? { page: 'add-host' } : { page: 'host', host: second };
  if (first === 'projects') return { page: 'project', project: second };
  if (first === 'deployments') return { page: 'deployment', id: second };
  if (first === 'agents') return { page: 'agent', uid: second };
  if (first === 'configs') return { page: 'config', name: second };
  return first === 'assignments' ? { page: 'assignment', id: second } : { page: 'missing' };
}

/** Where Esc leads to: one level up, and nowhere from a page on which something is written. */
export function parentOf(route: Route): string | null {
  if (route.page === 'agent') return '/agents';
  if (route.page === 'config') return '/configs';
  if (route.page === 'host') return '/hosts';
  if (['project', 'service', 'logs', 'deployments'].includes(route.page)) return '/services';
  if (route.page === 'deployment') return '/deployments';
  if (route.page === 'revision') return configHref(route.name);
  return route.page === 'assignment' ? '/assignments' : null;
}

export function configHref(name: string, revision?: number | null): string {
  const base = `/configs/${encodeURIComponent(name)}`;
  return revision ? `${base}/revisions/${revision}` : base;
}

export function assignmentHref(id: string): string {
  return `/assignments/${encodeURIComponent(id)}`;
}

/** A host that is called as the page that adds one has its own page under its id. */
export function hostHref({ name, id }: { name: string; id?: string }): string {
  return `/hosts/${encodeURIComponent(name === 'add' && id ? id : name)}`;
}

export function projectHref(name: string): string {
  return `/projects/${encodeURIComponent(name)}`;
}

export function deploymentHref(id: string): string {
  return `/deployments/${encodeURIComponent(id)}`;
}

/** The lines of a project, or of one of its services. */
export function logsHref(project: string, service: string | null = null): string {
  return `/logs?${new URLSearchParams({ project, ...(service ? { service } : {}) })}`;
}

export function serviceHref(project: string, service: string): string {
  return `/services/${encodeURIComponent(project)}/${encodeURIComponent(service)}`;
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
