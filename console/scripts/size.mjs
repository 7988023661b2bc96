// Fails when the first load of the built console is larger than its budget, or when the build holds anything that the
// content security policy would refuse: inline script or style, or an address outside.
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const BUDGET_KB = 60;
const dist = fileURLToPath(new URL('../dist', import.meta.url));
const html = readFileSync(join(dist, 'index.html'), 'utf8');

const first = ['index.html', ...[...html.matchAll(/(?:src|href)="\/([^"]+)"/g)].map((match) => match[1])];
const sizes = first.map((name) => [name, gzipSync(readFileSync(join(dist, name))).length]);
const total = sizes.reduce((sum, [, size]) => sum + size, 0) / 1000;
for (const [name, size] of sizes) console.log(`${(size / 1000).toFixed(1).padStart(7)} kB  ${name}`);
console.log(`${total.toFixed(1).padStart(7)} kB  first load, gzip (budget ${BUDGET_KB} kB)`);

const faults = [];
if (total > BUDGET_KB) faults.push(`the first load is ${total.toFixed(1)} kB, more than ${BUDGET_KB} kB`);
if (/<script(?![^>]*\ssrc=)[^>]*>/.test(html)) faults.push('index.html holds inline script');
if (/<style|\sstyle=/.test(html)) faults.push('index.html holds inline style');
for (const name of readdirSync(join(dist, 'assets'))) {
  const text = readFileSync(join(dist, 'assets', name), 'utf8');
  // Svelte's templates are strings in the script: a style attribute in one would be refused in the browser.
  if (name.endsWith('.js') && /<[a-z][^<>`]*\sstyle="/.test(text)) faults.push(`${name} holds a template with a style attribute`);
  if (name.endsWith('.css') && /url\(["']?(?:data:|https?:|\/\/)|@import/.test(text)) faults.push(`${name} loads something from outside`);
}
for (const fault of faults) console.error(`fault: ${fault}`);
process.exit(faults.length ? 1 : 0);
