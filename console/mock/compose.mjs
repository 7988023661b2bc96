// The mock's reading of Compose files: near enough to show what pages do with problems, variables, secrets and plans. The
// product reads far more, and more strictly.
import { LineCounter, parseDocument } from 'yaml';
import { Problem } from './problem.mjs';

const FILE = 'compose.yaml';

/** What is wished: services by name; throws what the product would refuse. */
export function readCompose({ files, variables = {}, env_files: envFiles = {}, secret_files: secretFiles = {} }) {
  const text = files?.[0]?.text ?? '';
  const lines = new LineCounter();
  const found = [];
  const say = (severity, at, path, message) => {
    const { line, col } = lines.linePos(Math.max(0, at));
    found.push({ file: FILE, line, column: col, severity, message: `${path ? `${path}: ` : ''}${message}` });
  };
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  for (const error of document.errors) say('error', error.pos[0], '', error.message.replace(/\s+/g, ' '));
  const root = document.toJS() ?? {};
  const placeOf = (name) => text.search(new RegExp(`^\\s*${name}:`, 'm'));
  const filled = filler(variables, (severity, whole, message) => say(severity, text.indexOf(whole), 'services', message));
  const services = Object.entries(root.services ?? {}).map(([name, one]) => {
    if (one?.privileged) say('error', placeOf('privileged') + 4, `services.${name}.privileged`, 'would give the container the host; add what it needs under cap_add');
    if (!one?.image) say('error', placeOf(name) + 2, `services.${name}`, 'a service without an image is not supported; build it elsewhere and write image:');
    for (const path of [one?.env_file ?? []].flat()) if (!(path in envFiles)) say('error', placeOf('env_file'), `services.${name}.env_file`, `the file ${JSON.stringify(path)} was not given`);
    const image = filled(String(one?.image ?? ''));
    const tag = /:([^/@]*)(?:@|$)/.exec(image)?.[1];
    if (tag !== undefined && !/^\w[\w.-]{0,127}$/.test(tag)) say('error', text.indexOf(String(one.image)), `services.${name}.image`, `${JSON.stringify(tag)} is no tag: letters, digits, _ . - and at most 128 of them, the first no . or -`);
    return { name, image, environment: filled(JSON.stringify(one?.environment ?? {})), replicas: one?.deploy?.replicas ?? one?.scale ?? 1, ports: [one?.ports ?? []].flat().map(String), host: one?.['x-muster']?.placement?.host ?? null };
  });
  const errors = found.filter((one) => one.severity === 'error');
  if (errors.length > 0) throw new Problem(422, 'cannot be deployed', `the Compose files cannot be deployed: ${errors[0].message}`, 'files', { problems: found });
  if (services.length === 0) throw new Problem(422, 'cannot be deployed', 'the Compose files name no service');
  for (const [name, { file }] of Object.entries(root.secrets ?? {})) {
    if (file && !(file in secretFiles)) throw new Problem(422, 'cannot be deployed', `the file ${file} that the Compose files name was not sent along`);
    if (file) services.forEach((one) => (one.secrets = [...(one.secrets ?? []), name]));
  }
  const external = Object.entries(root.secrets ?? {}).filter(([, one]) => one?.external).map(([name, one]) => one.name ?? name);
  return { services, external, warnings: found.map(({ line, column, severity, message }) => `${FILE}:${line}:${column}: ${severity}: ${message}`) };
}

/** Puts values in place of variables, and says which are missing. */
function filler(variables, say) {
  return (text) => text.replace(/\$\{?([A-Za-z_]\w*)(?::?([-?])([^}]*))?\}?/g, (whole, name, sign, rest) => {
    if (variables[name]) return variables[name];
    if (sign === '-') return rest;
    say(sign === '?' ? 'error' : 'warning', whole, sign === '?' ? `the variable ${name} must be set: ${rest}` : `the variable ${name} is not set and becomes empty`);
    return '';
  });
}
