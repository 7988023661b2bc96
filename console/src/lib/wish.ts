// What a Compose file wants beside itself: values of variables, files that it names, secrets that must be there. Variables
// are read from the text; what is missing the server says in words, which are read here to put the fix beside them.
import { asApiError, ApiError } from './api';
import type { Problem } from './configs';
import { base64, type Plan, type Wish } from './services';

export const COMPOSE_FILE = 'compose.yaml';
export const FIRST_COMPOSE = `name: shop
services:
  web:
    image: nginx:1.29
    ports: ["8080:80"]
    healthcheck: {test: ["CMD", "curl", "-fs", "http://127.0.0.1/"], interval: 5s}
    deploy: {replicas: 2}
`;

/** What a person gave beside the text. Values are held by the page only: they may be secrets. */
export interface Given {
  variables: Record<string, string>;
  files: Record<string, Uint8Array>;
}

/** The `name:` at the top of the file. */
export function nameIn(text: string): string | null {
  return /^name:\s*["']?([a-z0-9][a-z0-9_-]*)["']?\s*(?:#.*)?$/m.exec(text)?.[1] ?? null;
}

/** Variables that the text uses, each once, with whether it has to be given. Comments are left out. */
export function variablesIn(text: string): string[] {
  const lines = text.split('\n').map((line) => line.replace(/(^|\s)#.*$/, ''));
  const found = lines.join('\n').replaceAll('$$', '').matchAll(/\$\{?([A-Za-z_][A-Za-z0-9_]*)/g);
  return [...new Set([...found].map((match) => match[1] ?? ''))];
}

/** The answer to a plan: what would happen, or why that cannot be said. */
export interface Outlook {
  plan: Plan | null;
  problems: Problem[];
  /** Whole sentences that are about no place in the file. */
  faults: string[];
  error: ApiError | null;
}

export function outlookOf(plan: Plan): Outlook {
  const places = plan.warnings.map(placed);
  return { plan, problems: places.filter((one) => one !== null), faults: plan.warnings.filter((_, at) => places[at] === null), error: null };
}

/** A refusal about the files is problems and faults; anything else is an error. */
export function outlookOfError(cause: unknown): Outlook {
  const error = asApiError(cause);
  const problems = Array.isArray(error.said.problems) ? (error.said.problems as Problem[]) : [];
  if (problems.length > 0) return { plan: null, problems, faults: [], error: null };
  return error.status === 422 ? { plan: null, problems: [], faults: [error.message], error: null } : { plan: null, problems: [], faults: [], error };
}

/** `compose.yaml:3:5: warning: services.web: …` as a problem at its place. */
function placed(text: string): Problem | null {
  const found = /^(\S+?):(\d+):(\d+): (error|warning): (.*)$/s.exec(text);
  if (!found) return null;
  const [, file = '', line, column, severity, message = ''] = found;
  return { file, line: Number(line), column: Number(column), severity: severity as Problem['severity'], message };
}

/** What is missing and can be given on the page. */
export interface Missing {
  variables: string[];
  files: string[];
  secrets: string[];
}

export function missingIn({ plan, problems, faults }: Outlook): Missing {
  const said = [...problems.map((one) => one.message), ...faults, ...(plan?.refusals ?? [])];
  const all = (pattern: RegExp): string[] => [...new Set(said.flatMap((text) => pattern.exec(text)?.[1] ?? []))];
  return {
    variables: all(/(?:the|wants the) variable "?([A-Za-z_][A-Za-z0-9_]*)"?,? (?:which )?(?:is not set|must be set)/),
    files: all(/the file "?(.+?)"? (?:that the Compose files name was not sent along|was not given)/),
    secrets: all(/^the secret (\S+) is not set/),
  };
}

/** What has to be given on the page before the file can be deployed: "Set the secret mail first."; null when nothing has. */
export function firstWords(outlook: Pick<Outlook, 'plan' | 'problems'>, missing: Missing): string | null {
  const named = (what: string, names: string[]): string => `the ${what}${names.length === 1 ? '' : 's'} ${names.join(', ')}`;
  if (missing.files.length > 0) return `Choose ${named('file', missing.files)} first.`;
  if (!outlook.plan && missing.variables.length > 0) return `Give ${named('variable', missing.variables)} a value first.`;
  return missing.secrets.length > 0 ? `Set ${named('secret', missing.secrets)} first.` : null;
}

/** The body of a plan or deployment. A file that is named goes along in every form: the server takes the one it needs. */
export function wishOf(text: string, given: Given, message = '', force = false): Wish {
  const contents = Object.fromEntries(Object.entries(given.files).map(([path, bytes]) => [path, base64(bytes)]));
  const decoder = new TextDecoder();
  const texts = Object.fromEntries(Object.entries(given.files).map(([path, bytes]) => [path, decoder.decode(bytes)]));
  const variables = Object.fromEntries(Object.entries(given.variables).filter(([, value]) => value !== ''));
  return { files: [{ name: COMPOSE_FILE, text }], variables, env_files: texts, secret_files: contents, config_files: contents, message, force };
}
