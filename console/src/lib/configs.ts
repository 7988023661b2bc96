// Configurations as the API has them: shapes, calls, and the commands that do the same. Pages hold no addresses of calls.
import { api, type Page, type Tagged } from './api';
import { shellQuote } from './shell';

export interface DraftFile {
  name: string;
  body: string;
}

export interface RevisionFile extends DraftFile {
  content_type: string;
}

export interface ConfigSummary {
  name: string;
  description: string;
  /** The number of the latest revision. */
  revision: number;
  updated_at: string;
  author: string;
  assignments: number;
  agents: number;
}

export interface ConfigDetail extends ConfigSummary {
  created_at: string;
  files: RevisionFile[];
  hash: string;
}

export interface RevisionSummary {
  number: number;
  author: string;
  message: string;
  created_at: string;
  hash: string;
  files: { name: string; content_type: string; size: number }[];
  assignments: number;
}

export interface Revision extends Omit<RevisionSummary, 'files' | 'assignments'> {
  config: string;
  files: RevisionFile[];
}

export interface Problem {
  file: string;
  line: number;
  column: number;
  severity: 'error' | 'warning';
  message: string;
}

export interface DiffLine {
  kind: 'same' | 'added' | 'removed';
  old: number | null;
  new: number | null;
  text: string;
}

/** One difference by meaning: a component, a pipeline, a setting of the service. */
export interface Change {
  area: string;
  name: string;
  change: 'added' | 'removed' | 'changed';
  detail: string;
}

export interface Diff {
  files: { name: string; change: 'added' | 'removed' | 'changed'; lines: DiffLine[] }[];
  changes: Change[];
}

const path = (name: string): string => `/configs/${encodeURIComponent(name)}`;
/** Only what a draft says: the server knows the content type by the name. */
const plain = (files: DraftFile[]): DraftFile[] => files.map(({ name, body }) => ({ name, body }));

export const configs = {
  path,
  list: (q: string, cursor: string): Promise<Page<ConfigSummary>> => api.get(`/configs?${new URLSearchParams({ ...(q ? { q } : {}), ...(cursor ? { cursor } : {}) })}`),
  get: (name: string): Promise<Tagged<ConfigDetail>> => api.tagged(path(name)),
  history: (name: string): Promise<{ items: RevisionSummary[] }> => api.get(`${path(name)}/revisions?limit=500`),
  revision: (name: string, number: number): Promise<Revision> => api.get(`${path(name)}/revisions/${number}`),
  diff: (name: string, from: number, to: number): Promise<Diff> => api.get(`${path(name)}/diff?from=${from}&to=${to}`),
  diffFiles: async (from: DraftFile[], to: DraftFile[]): Promise<Diff> =>
    (await api.write<Diff>('POST', '/configs/diff', { from: { files: plain(from) }, to: { files: plain(to) } })).value,
  check: async (files: DraftFile[]): Promise<{ valid: boolean; problems: Problem[] }> =>
    (await api.write<{ valid: boolean; problems: Problem[] }>('POST', '/configs/check', { files: plain(files) })).value,
  create: (name: string, description: string, message: string, files: DraftFile[]): Promise<Tagged<ConfigDetail>> =>
    api.write('POST', '/configs', { name, description, message, files: plain(files) }),
  revise: (name: string, message: string, files: DraftFile[], basedOn: number): Promise<Tagged<Revision>> =>
    api.write('POST', `${path(name)}/revisions`, { message, files: plain(files), based_on: basedOn }),
  describe: (name: string, description: string, etag: string | null): Promise<Tagged<ConfigDetail>> => api.write('PATCH', path(name), { description }, etag),
  remove: (name: string, etag: string | null): Promise<Tagged<void>> => api.write('DELETE', path(name), undefined, etag),
  importFrom: (agent: string, name: string): Promise<Tagged<ConfigDetail>> => api.write('POST', '/configs/import', { agent, name }),
};

/** The name of a file for people: many agents take a single file without one. */
export function fileLabel(name: string): string {
  return name === '' ? 'unnamed file' : name;
}

/** The command that saves these files as the next revision. */
export function applyCommand(name: string, files: DraftFile[], message: string): string {
  const sources = files.map((file) => `-f ${shellQuote(file.name === '' ? 'FILE' : file.name)}`);
  return [`muster configs apply ${shellQuote(name || 'NAME')}`, ...sources, `-m ${shellQuote(message || '…')}`].join(' ');
}
