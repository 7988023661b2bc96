// The accessibility scan: every rule of axe-core, on the page as it stands. Throws what it finds.
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export async function scan(page, where) {
  // Evaluated through the debugger: a script tag would be refused by the content security policy.
  await page.evaluate(source);
  const found = await page.evaluate(async () => {
    const { violations } = await window.axe.run(document, { resultTypes: ['violations'] });
    return violations.map(({ id, help, nodes }) => `${id} (${help}): ${nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(' ; ')}`);
  });
  if (found.length > 0) throw new Error(`axe on ${where}:\n${found.join('\n')}`);
}
