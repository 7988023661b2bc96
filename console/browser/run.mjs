// The browser test: run.mjs [--demo] [WORDS]. It drives the built console against the mock server, all of it; with
// --demo the real binary of MUSTER_BIN, started as `make run` starts it; with MUSTER_URL (and MUSTER_USER,
// MUSTER_PASSWORD) a subset against a server that is up and has a connected agent; with --lab as well what needs a real
// machine, for tests/lab. WORDS: only cases named so.
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { startMock } from '../mock/server.mjs';
import { openBrowser, openPage, realServer } from './chromium.mjs';
import { demoCases } from './cases-demo.mjs';
import { demoHostCases } from './cases-demo-hosts.mjs';
import { labCases } from './cases-lab.mjs';
import { mockCases } from './cases-mock.mjs';
import { realCases } from './cases-real.mjs';
import { realPeopleCases } from './cases-real-people.mjs';
import { startDev } from './dev-server.mjs';
import { startMachine } from './machine.mjs';

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

/** Each case on the mock has a fleet of its own, so that cases do not depend on their order. */
async function onMock(browser, one) {
  const mock = await startMock({ extra: one[2]?.extra ?? 0 });
  const passed = await run(browser, one, { url: mock.url, user: 'admin', password: 'admin', mock: mock.mock });
  await mock.close();
  return passed;
}

/** Where the cases run: what they are, how one is run, and what is ended at last. */
async function world(words) {
  const real = realServer();
  if (words.includes('--demo')) {
    const server = await startDev(process.env.MUSTER_BIN ?? `${process.env.CARGO_TARGET_DIR ?? '../target'}/debug/muster`);
    return { cases: [...demoCases, ...demoHostCases, ...realCases, ...realPeopleCases], run: (browser, one) => run(browser, one, server), close: server.close };
  }
  if (words.includes('--lab')) {
    const { machine, close } = startMachine();
    return { cases: labCases, run: (browser, one) => run(browser, one, { ...real, machine }), close };
  }
  if (real) return { cases: realCases, run: (browser, one) => run(browser, one, real), close: () => {} };
  if (!readdirSync(fileURLToPath(new URL('../', import.meta.url))).includes('dist')) throw new Error('build first: npm run build');
  return { cases: mockCases, run: onMock, close: () => {} };
}

async function main() {
  const only = process.argv.slice(2).find((word) => !word.startsWith('--'));
  const { cases, run: runOne, close } = await world(process.argv);
  const chosen = cases.filter(([name]) => !only || new RegExp(only).test(name));
  const browser = await openBrowser();
  let failed = 0;
  try {
    for (const one of chosen) if (!(await runOne(browser, one))) failed += 1;
  } finally {
    await browser.close();
    await close();
  }
  console.log(`${chosen.length - failed} of ${chosen.length} browser cases passed`);
  return failed === 0 && chosen.length > 0 ? 0 : 1;
}

process.exitCode = await main();
