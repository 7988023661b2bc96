// Drafts of configurations, kept in this browser so that a reload, a crash or bad input loses nothing. They are text of
// the person who writes them; the server has no copy until they are saved as a revision.
import type { DraftFile } from './configs';

export interface Draft {
  files: DraftFile[];
  message: string;
  /** The revision that the draft began with; null for a configuration that is new. */
  basedOn: number | null;
  /** Name and description of a configuration that is new. */
  name: string;
  description: string;
  at: string;
}

const PREFIX = 'muster.draft.';
/** A name that no configuration can have. */
export const NEW = ' new';

export function readDraft(key: string, storage: Storage = localStorage): Draft | null {
  try {
    const found: unknown = JSON.parse(storage.getItem(PREFIX + key) ?? 'null');
    return isDraft(found) ? found : null;
  } catch {
    return null;
  }
}

/** Whether the browser took it: storage may be full, or forbidden. */
export function keepDraft(key: string, draft: Draft, storage: Storage = localStorage): boolean {
  try {
    storage.setItem(PREFIX + key, JSON.stringify(draft));
    return true;
  } catch {
    return false;
  }
}

export function dropDraft(key: string, storage: Storage = localStorage): void {
  try {
    storage.removeItem(PREFIX + key);
  } catch {
    // Where nothing can be kept, nothing is left to drop.
  }
}

export function sameFiles(one: DraftFile[], other: DraftFile[]): boolean {
  return one.length === other.length && one.every((file, at) => file.name === other[at]?.name && file.body === other[at]?.body);
}

/** What is wrong with the names of files, by the rules of the server; null when nothing is. */
export function nameFault(files: DraftFile[], at: number): string | null {
  const name = files[at]?.name ?? '';
  if (name === '') return files.length > 1 ? 'Only a file that is alone may be without a name.' : null;
  if (files.some((file, other) => other !== at && file.name === name)) return 'Another file has this name.';
  if (new TextEncoder().encode(name).length > 255) return 'The name is longer than 255 bytes.';
  if (name.startsWith('/') || name.includes('\\') || name.split('/').includes('..')) return 'No leading "/", no "..", no backslash.';
  return /[\u0000-\u001f\u007f]/.test(name) ? 'No control characters.' : null;
}

function isDraft(value: unknown): value is Draft {
  const draft = value as Draft | null;
  return typeof draft === 'object' && draft !== null && typeof draft.message === 'string' && Array.isArray(draft.files) &&
    draft.files.length > 0 && draft.files.every((file) => typeof file?.name === 'string' && typeof file?.body === 'string');
}
