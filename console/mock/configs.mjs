// The mock's configurations: revisions, the check of files, differences by line and by meaning, import from an agent.
import { createHash } from 'node:crypto';
import { LineCounter, parseDocument } from 'yaml';
import { now, Problem } from './problem.mjs';

const NAME = /^[a-z0-9][a-z0-9._-]{0,62}$/;
const AREAS = { receivers: 'receiver', processors: 'processor', exporters: 'exporter', connectors: 'connector', extensions: 'extension' };

export class Configs {
  constructor(mock) {
    this.mock = mock;
    this.all = new Map();
  }

  get(name) {
    const found = this.all.get(name);
    if (!found) throw new Problem(404, 'not found', `there is no configuration "${name}"`);
    return found;
  }

  revision(name, number) {
    const found = this.get(name).revisions.find((one) => one.number === Number(number));
    if (!found) throw new Problem(404, 'not found', `"${name}" has no revision ${number}`);
    return found;
  }

  latest(name) {
    return this.get(name).revisions.at(-1);
  }

  create({ name, description = '', message = '', files }, author, at = now()) {
    if (!NAME.test(name ?? '')) throw new Problem(400, 'bad name', 'a name is 1 to 63 of a-z, 0-9, ".", "_" and "-", and begins with a letter or digit', 'name');
    if (this.all.has(name)) throw new Problem(409, 'exists already', `there is a configuration "${name}" already`, 'name');
    accept(files);
    this.all.set(name, { name, description, created_at: at, version: 1, revisions: [] });
    this.#add(name, files, message, author, at);
    return this.detail(name);
  }

  /** The new revision, or null when the files are those of the latest. */
  revise(name, { message = '', files, based_on: base }, author, at = now()) {
    const latest = this.latest(name);
    if (base !== undefined && base !== latest.number) {
      throw new Problem(409, 'changed-meanwhile', `revision ${latest.number} was saved by ${latest.author} after revision ${base}, which this one is based on`, 'based_on');
    }
    accept(files);
    if (hashOf(typed(files)) === latest.hash) return null;
    return this.#add(name, files, message, author, at);
  }

  #add(name, files, message, author, at) {
    const config = this.get(name);
    const revision = { config: name, number: config.revisions.length + 1, author, message, created_at: at, hash: hashOf(typed(files)), files: typed(files) };
    config.revisions.push(revision);
    config.version += 1;
    this.mock.hint('configs', { names: [name] });
    return revision;
  }

  summary(name) {
    const config = this.get(name);
    const latest = this.latest(name);
    return {
      name, description: config.description, revision: latest.number, updated_at: latest.created_at, author: latest.author,
      assignments: this.mock.rollouts.of(name).length, agents: this.mock.rollouts.having(name).length,
    };
  }

  detail(name) {
    const { files, hash } = this.latest(name);
    return { ...this.summary(name), created_at: this.get(name).created_at, files, hash };
  }

  history(name) {
    return this.get(name).revisions.map(({ config: _, files, ...rest }) => ({
      ...rest, files: files.map((file) => ({ name: file.name, content_type: file.content_type, size: Buffer.byteLength(file.body) })),
      assignments: this.mock.rollouts.of(name).filter((one) => (one.target ?? one.settled) === rest.number).length,
    })).reverse();
  }

  remove(name) {
    const held = this.mock.rollouts.of(name).length + [...this.mock.rollouts.overrides.values()].filter((one) => one.config === name).length;
    if (held > 0) throw new Problem(409, 'in use', `"${name}" is assigned or pinned ${held} times; delete those first`);
    this.all.delete(name);
    this.mock.hint('configs', { names: [name] });
  }
}

export function hashOf(files) {
  return createHash('sha256').update(JSON.stringify(files)).digest('hex');
}

export function typed(files) {
  return files.map(({ name, content_type: type, body }) => ({ name, content_type: type ?? typeOf(name), body }));
}

function typeOf(name) {
  if (name === '' || /\.ya?ml$/.test(name)) return 'text/yaml';
  return name.endsWith('.json') ? 'application/json' : 'text/plain';
}

function accept(files) {
  const { valid, problems } = check(files);
  if (!valid) throw new Problem(422, 'bad configuration', `${problems[0].file || 'the file'}, line ${problems[0].line}: ${problems[0].message}`, 'files', { problems });
}

export function check(files) {
  if (!Array.isArray(files) || files.length < 1 || files.length > 64) throw new Problem(400, 'bad files', 'a configuration has 1 to 64 files', 'files');
  const problems = files.flatMap((file, at) => [...nameProblems(files, file, at), ...bodyProblems(file)]);
  return { valid: !problems.some((one) => one.severity === 'error'), problems };
}

function nameProblems(files, { name }, at) {
  const fault = (message) => [{ file: name, line: 1, column: 1, severity: 'error', message }];
  if (files.findIndex((other) => other.name === name) !== at) return fault(`two files are called "${name}"`);
  if (name === '' && files.length > 1) return fault('a file without a name must be the only one');
  if (/^\/|\\|[\u0000-\u001f]/.test(name) || name.split('/').includes('..')) return fault(`"${name}" is no good file name`);
  return [];
}

function bodyProblems(file) {
  const type = typeOf(file.name);
  if (type === 'application/json') return jsonProblems(file);
  if (type !== 'text/yaml') return [];
  const lines = new LineCounter();
  const document = parseDocument(file.body, { lineCounter: lines, prettyErrors: false });
  const told = (severity) => (one) => ({ file: file.name, line: lines.linePos(one.pos[0]).line, column: lines.linePos(one.pos[0]).col, severity, message: one.message.replace(/\s+/g, ' ') });
  const faults = [...document.errors.map(told('error')), ...document.warnings.map(told('warning'))];
  return faults.length > 0 ? faults : pipelineProblems(file, document.toJS());
}

function jsonProblems(file) {
  try {
    JSON.parse(file.body);
    return [];
  } catch (error) {
    return [{ file: file.name, line: 1, column: 1, severity: 'error', message: error.message }];
  }
}

/** A pipeline that names a component which is not there: the Collector would refuse to start. */
function pipelineProblems(file, config) {
  const lineOf = (key) => file.body.split('\n').findIndex((line) => line.trim().startsWith(`${key}:`)) + 1;
  return Object.entries(config?.service?.pipelines ?? {}).flatMap(([pipeline, parts]) =>
    ['receivers', 'processors', 'exporters'].flatMap((kind) => (Array.isArray(parts?.[kind]) ? parts[kind] : [])
      .filter((id) => !(id in (config[kind] ?? {})) && !(id in (config.connectors ?? {})))
      .map((id) => ({ file: file.name, line: lineOf(pipeline) || 1, column: 1, severity: 'warning', message: `pipeline "${pipeline}" uses the ${kind.slice(0, -1)} "${id}", which is not defined` }))));
}

export function diff(from, to) {
  const names = [...new Set([...from, ...to].map((file) => file.name))];
  const body = (files, name) => files.find((file) => file.name === name)?.body;
  const files = names.flatMap((name) => {
    const [old, fresh] = [body(from, name), body(to, name)];
    if (old === fresh) return [];
    return [{ name, change: old === undefined ? 'added' : fresh === undefined ? 'removed' : 'changed', lines: lineDiff(split(old), split(fresh)) }];
  });
  return { files, changes: names.flatMap((name) => meaning(parsed(body(from, name)), parsed(body(to, name)))) };
}

const split = (text) => (text === undefined || text === '' ? [] : text.replace(/\n$/, '').split('\n'));

function parsed(text) {
  try {
    return parseDocument(text ?? '').toJS() ?? {};
  } catch {
    return {};
  }
}

/** The longest common subsequence, quadratic: the mock's files are short. */
function lineDiff(old, fresh) {
  const best = Array.from({ length: old.length + 1 }, () => new Array(fresh.length + 1).fill(0));
  for (let i = old.length - 1; i >= 0; i -= 1) {
    for (let j = fresh.length - 1; j >= 0; j -= 1) best[i][j] = old[i] === fresh[j] ? best[i + 1][j + 1] + 1 : Math.max(best[i + 1][j], best[i][j + 1]);
  }
  const lines = [];
  for (let i = 0, j = 0; i < old.length || j < fresh.length;) {
    if (i < old.length && j < fresh.length && old[i] === fresh[j]) lines.push({ kind: 'same', old: (i += 1), new: (j += 1), text: fresh[j - 1] });
    else if (i < old.length && (j >= fresh.length || best[i + 1][j] >= best[i][j + 1])) lines.push({ kind: 'removed', old: (i += 1), new: null, text: old[i - 1] });
    else lines.push({ kind: 'added', old: null, new: (j += 1), text: fresh[j - 1] });
  }
  return lines;
}

function meaning(from, to) {
  const flat = (config) => new Map([
    ...Object.entries(AREAS).flatMap(([key, area]) => Object.entries(config?.[key] ?? {}).map(([name, value]) => [`${area}\n${name}`, value])),
    ...Object.entries(config?.service?.pipelines ?? {}).map(([name, value]) => [`pipeline\n${name}`, value]),
    ...Object.entries(config?.service ?? {}).filter(([name]) => name !== 'pipelines').map(([name, value]) => [`service\n${name}`, value]),
    ...Object.entries(config ?? {}).filter(([name]) => !(name in AREAS) && name !== 'service').map(([name, value]) => [`other\n${name}`, value]),
  ]);
  const [old, fresh] = [flat(from), flat(to)];
  return [...new Set([...old.keys(), ...fresh.keys()])].flatMap((id) => {
    const [area, name] = id.split('\n');
    if (JSON.stringify(old.get(id)) === JSON.stringify(fresh.get(id)) && old.has(id) === fresh.has(id)) return [];
    const change = !old.has(id) ? 'added' : !fresh.has(id) ? 'removed' : 'changed';
    return [{ area, name, change, detail: change === 'changed' ? paths(old.get(id), fresh.get(id)).join('; ') : '' }];
  });
}

function paths(old, fresh, at = '') {
  if (JSON.stringify(old) === JSON.stringify(fresh)) return [];
  const maps = [old, fresh].every((value) => value && typeof value === 'object' && !Array.isArray(value));
  if (!maps) return [`${at || 'value'}: ${JSON.stringify(old) ?? 'nothing'} → ${JSON.stringify(fresh) ?? 'nothing'}`];
  return [...new Set([...Object.keys(old), ...Object.keys(fresh)])].flatMap((key) => paths(old[key], fresh[key], at ? `${at}.${key}` : key));
}
