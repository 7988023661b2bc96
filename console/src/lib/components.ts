// What an agent says it was built with, and its packages, read from what it sent: lists for people. What has another shape
// than these two stays in the tree that it came as.

export interface Built {
  /** "receivers". */
  kind: string;
  names: string[];
  /** Where all of them say the same one. */
  version: string | null;
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);

function versionOf(component: unknown): string | null {
  // Metadata comes as attributes, each with its key.
  const metadata = isObject(component) && Array.isArray(component.metadata) ? component.metadata : [];
  const version = metadata.find((one) => isObject(one) && one.key === 'version')?.value;
  return typeof version === 'string' && version !== '' ? version : null;
}

/** Kinds with their components; null when the tree is not one of kinds. */
export function builtOf(tree: unknown): Built[] | null {
  if (!isObject(tree) || Object.keys(tree).length === 0) return null;
  const kinds = Object.entries(tree).map(([kind, value]) => (isObject(value) && isObject(value.components) ? { kind, below: value.components } : null));
  if (kinds.some((one) => one === null)) return null;
  return kinds.map((one) => {
    const { kind, below } = one as { kind: string; below: Record<string, unknown> };
    const versions = new Set(Object.values(below).map(versionOf));
    const [only] = versions;
    const shared = versions.size === 1 ? (only ?? null) : null;
    const named = ([name, value]: [string, unknown]): string => (shared === null && versionOf(value) ? `${name} ${versionOf(value)}` : name);
    return { kind, names: Object.entries(below).map(named).sort(), version: shared };
  });
}

export interface Package {
  name: string;
  has: string;
  offered: string;
  /** "installing, 40 %", or what went wrong. */
  status: string;
  error: string;
}

/** Packages in rows; null when they are not told as packages are. */
export function packagesOf(statuses: unknown): Package[] | null {
  if (!isObject(statuses)) return null;
  const of = isObject(statuses.packages) ? statuses.packages : statuses;
  const rows = Object.entries(of).map(([name, value]) => {
    if (!isObject(value) || !('status' in value || 'agent_has_version' in value)) return null;
    const said = (field: string): string => (typeof value[field] === 'string' ? (value[field] as string) : '');
    const percent = typeof value.download_percent === 'number' && value.status === 'installing' ? `, ${Math.round(value.download_percent)} %` : '';
    return { name, has: said('agent_has_version'), offered: said('server_offered_version'), status: `${said('status').replaceAll('_', ' ')}${percent}`, error: said('error') };
  });
  return rows.length > 0 && rows.every((row) => row !== null) ? rows : null;
}
