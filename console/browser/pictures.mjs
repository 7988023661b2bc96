// `npm run pictures`: the pictures of the guide in docs/guide/pictures, taken from the server at
// MUSTER_URL (MUSTER_USER, MUSTER_PASSWORD); without MUSTER_URL from the mock. MUSTER_AGENT names the agent to show;
// otherwise the first connected one is.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startMock } from '../mock/server.mjs';
import { openBrowser, openPage, realServer, signInTo } from './chromium.mjs';

const OUT = fileURLToPath(new URL('../../docs/guide/pictures/', import.meta.url));

async function take(page, server) {
  await signInTo(page, server, '/agents');
  await page.locator('[data-row]').first().waitFor();
  await page.mouse.move(0, 0);
  await page.screenshot({ path: join(OUT, 'agents.png') });
  const connected = page.locator('tbody tr', { hasText: 'connected' });
  const uid = process.env.MUSTER_AGENT ?? server.agent ?? (await connected.first().getAttribute('data-uid'));
  await page.goto(`${server.url}/agents/${encodeURIComponent(uid)}`);
  await page.getByRole('heading', { name: 'Identity' }).waitFor();
  await page.screenshot({ path: join(OUT, 'agent.png') });
  await shoot(page, server, '/', 'overview.png');
  await shoot(page, server, '/configs', 'configurations.png');
  await page.locator('tbody tr a, li a').first().click();
  await page.getByRole('heading', { name: 'History' }).waitFor();
  await page.screenshot({ path: join(OUT, 'configuration.png') });
  await shoot(page, server, '/activity', 'activity.png');
}

async function shoot(page, server, path, name) {
  await page.goto(`${server.url}${path}`);
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.waitForLoadState('networkidle').catch(() => {});
  await page.screenshot({ path: join(OUT, name) });
}

mkdirSync(OUT, { recursive: true });
const real = realServer();
const mock = real ? null : await startMock();
// The hostile agent is for tests; a guide shows a fleet as people have it.
if (mock) for (const one of [...mock.mock.agents.values()]) if (one.name.includes('<')) mock.mock.agents.delete(one.instance_uid);
const server = real ?? { url: mock.url, user: 'admin', password: 'admin', agent: [...mock.mock.agents.keys()][2] };
const browser = await openBrowser();
try {
  await take(await openPage(browser, { width: 1280, height: 800 }), server);
} finally {
  await browser.close();
  await mock?.close();
}
console.log(`pictures in ${OUT}`);
