// The browser test. Without MUSTER_URL it drives the built console against the mock server, all of it; with MUSTER_URL
// (and MUSTER_USER, MUSTER_PASSWORD) a subset against a real server that has a connected agent.
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { startMock } from '../mock/server.mjs';
import { openBrowser, openPage, realServer } from './chromium.mjs';
import { mockCases } from './cases-mock.mjs';
import { realCases } from './cases-real.mjs';

/** Runs one case in a profile of its own; whatever the page complains about fails the case. */
async function run(browser, [name, body, options = {}], server) {
  const page = await openPage(browser, options);
  const complaints = [];
  page.on('pageerror', (error) => complaints.push(`uncaught: ${error.message}`));
  page.on('console', (message) => {
    // A refused or broken request is logged by the browser itself; cases that provoke one say so.
    const provoked = (options.refusals ?? []).some((what) => message.text().includes(typeof what === 'number' ? `status of ${what}` : what));
    if (message.type() === 'error' && !provoked) complaints.push(`${message.text()} (${message.location().url})`);
  });
  try {
    await body(page, server);
    if (complaints.length > 0) throw new Error(`the page complained: ${complaints.join(' | ')}`);
    console.log(`ok    ${name}`);
    return true;
  } catch (error) {
    console.log(`FAIL  ${name}\n      ${String(error.stack ?? error).replaceAll('\n', '\n      ')}`);
    if (complaints.length > 0) console.log(`      complaints: ${complaints.join(' | ')}`);
    if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/${name.replace(/\W+/g, '-')}.png` }).catch(() => {});
    return false;
  } finally {
    await page.context().close();
  }
}

async function main() {
  const real = realServer();
  if (!real && !readdirSync(fileURLToPath(new URL('../', import.meta.url))).includes('dist')) throw new Error('build first: npm run build');
  const only = process.argv[2];
  const cases = (real ? realCases : mockCases).filter(([name]) => !only || new RegExp(only).test(name));
  const browser = await openBrowser();
  let failed = 0;
  for (const one of cases) {
    // Each case on the mock has a fleet of its own, so that cases do not depend on their order.
    const mock = real ? null : await startMock({ extra: one[2]?.extra ?? 0 });
    const server = real ?? { url: mock.url, user: 'admin', password: 'admin', mock: mock.mock };
    if (!(await run(browser, one, server))) failed += 1;
    await mock?.close();
  }
  await browser.close();
  console.log(`${cases.length - failed} of ${cases.length} browser cases passed`);
  return failed === 0 ? 0 : 1;
}

process.exitCode = await main();
