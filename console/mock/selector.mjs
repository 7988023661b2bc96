// The selector syntax of the product, near enough for the mock: key, !key, =, ==, !=, in (…) and notin (…), joined by
// commas. Labels count as further values of their key.
import { Problem } from './problem.mjs';

const TERM = /^(?:(!)\s*([\w./-]+)|([\w./-]+)\s*(?:(!=|==?)\s*([\w./:-]+)|\s(in|notin)\s*\(([^()]*)\))?)$/;

/** Terms are parted at commas outside parentheses; each keeps its place for the complaint. */
function terms(text) {
  const found = [];
  let depth = 0;
  let start = 0;
  for (let at = 0; at <= text.length; at += 1) {
    if (text[at] === '(') depth += 1;
    if (text[at] === ')') depth -= 1;
    if (at === text.length || (text[at] === ',' && depth === 0)) {
      const raw = text.slice(start, at);
      found.push({ text: raw.trim(), column: start + (raw.length - raw.trimStart().length) + 1 });
      start = at + 1;
    }
  }
  return found.filter((term) => term.text !== '');
}

export function valuesOf(agent, key) {
  const attributes = [...agent.description.identifying, ...agent.description.non_identifying];
  const values = attributes.filter((attribute) => attribute.key === key).map((attribute) => String(attribute.value));
  return key in agent.labels ? [...values, agent.labels[key]] : values;
}

/** What is wrong with a term, at its place, in the words of the server. */
function complaint(term, column) {
  const [read, not, key, operator] = /^(!\s*)?([\w./-]*)\s*(!=|==?|notin\b|in\b)?\s*/.exec(term);
  const at = (place, wanted) => {
    const rest = term.slice(place);
    return `column ${column + place}: expected ${wanted}, found ${rest ? (/^\w+/.test(rest) ? `"${/^\w+/.exec(rest)[0]}"` : `'${rest[0]}'`) : 'the end'}`;
  };
  if (!key) return at(not?.length ?? 0, 'a key');
  if (not) return at(read.length, 'a comma');
  if (!operator) return at(read.length, '=, ==, !=, in, notin or a comma');
  if (operator.endsWith('in')) return `column ${column + read.length}: expected a list in parentheses`;
  const value = /^[\w.:/-]*\s*/.exec(term.slice(read.length))[0];
  return value.trim() === '' ? at(read.length, 'a value') : at(read.length + value.length, 'a comma');
}

export function selector(text, field = 'selector') {
  const checks = terms(text).map(({ text: term, column }) => {
    const found = TERM.exec(term);
    if (!found) throw new Problem(400, 'bad selector', complaint(term, column), field);
    const [, not, absent, key, operator, value, set, list] = found;
    const wanted = set ? list.split(',').map((one) => one.trim()) : [value];
    if (not) return (agent) => valuesOf(agent, absent).length === 0;
    if (!operator && !set) return (agent) => valuesOf(agent, key).length > 0;
    const negative = operator === '!=' || set === 'notin';
    return (agent) => valuesOf(agent, key).some((one) => wanted.includes(one)) !== negative;
  });
  return (agent) => checks.every((check) => check(agent));
}
