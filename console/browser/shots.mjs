// Screenshots of every page at three widths and two themes, for people to look at: node browser/shots.mjs OUT_DIR
// (against the mock). Nothing is compared; the pictures of the guide are made by pictures.mjs.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { startMock } from '../mock/server.mjs';
import { openBrowser, openPage, signIn } from './chromium.mjs';

const out = process.argv[2] ?? 'shots';
mkdirSync(out, { recursive: true });
const { url, mock, close } = await startMock();
const browser = await openBrowser();
const uid = [...mock.agents.keys()];
for (const width of [1440, 768, 360]) {
  for (const theme of ['light', 'dark']) {
    const page = await openPage(browser, { theme, width, height: width === 360 ? 740 : 900 });
    const shot = (name, fullPage = false) => page.screenshot({ path: join(out, `${name}-${width}-${theme}.png`), fullPage });
    await page.goto(url);
    await page.getByLabel('User name').waitFor();
    await shot('signin');
    await signIn(page, { url, user: 'admin', password: 'admin' });
    await page.getByRole('heading', { name: 'Versions' }).waitFor();
    await shot('overview', true);
    await page.goto(`${url}/agents`);
    await page.locator('[data-row]').first().waitFor();
    await page.keyboard.press('ArrowDown');
    await shot('agents');
    await page.goto(`${url}/agents?selector=${encodeURIComponent('a ==== b')}`);
    await page.getByRole('alert').waitFor();
    await shot('selector');
    for (const [name, n] of [['agent', 2], ['extension', 1], ['hostile', 7], ['full', 8]]) {
      await page.goto(`${url}/agents/${uid[n]}`);
      await page.getByRole('heading', { name: 'Identity' }).waitFor();
      await shot(name, true);
    }
    await page.goto(`${url}/connect`);
    await page.getByRole('tab').first().waitFor();
    await shot('connect', true);
    await page.context().close();
  }
}
await browser.close();
await close();
console.log(`pictures in ${out}`);
