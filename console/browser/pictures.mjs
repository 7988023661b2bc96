// `make pictures`: every screen at three widths in two themes as PNG files in OUT (to be looked at, not committed), and
// the chosen ones as the guide's pictures in docs/guide/pictures, smaller. All of a made-up fleet: the mock's.
// Run: node browser/pictures.mjs OUT [WORDS]; with WORDS only the screens whose name holds them, and no guide.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startMock } from '../mock/server.mjs';
import { openBrowser, openPage, signIn } from './chromium.mjs';
import { arrange, SCREENS, WORKERS } from './screens.mjs';

const GUIDE = fileURLToPath(new URL('../../docs/guide/pictures/', import.meta.url));
const SIZES = [[1440, 900], [768, 1024], [360, 740]];
/** What the guide and the README show: screen, theme, width, height. */
const CHOSEN = [
  ['overview', 'light', 1280, 800], ['agents', 'light', 1280, 800], ['agents', 'dark', 1280, 800], ['agent-drifted', 'light', 1280, 1100], ['configuration', 'light', 1280, 800],
  ['edit', 'light', 1280, 800], ['assign', 'light', 1280, 800], ['rollout', 'light', 1280, 800], ['rollout', 'dark', 360, 740], ['hosts', 'light', 1280, 480], ['host-add', 'light', 1280, 720], ['host-in-need', 'light', 1280, 1000],
  ['services', 'light', 1280, 640], ['service', 'light', 1280, 900], ['service-deploy', 'light', 1280, 720], ['service-logs', 'dark', 1280, 720],
  ['activity', 'light', 1280, 800], ['settings', 'light', 1280, 800],
];

/** A signed-in page on a fleet of its own, for whatever `use` does with it. */
async function signedIn(browser, options, use) {
  const { url, mock, close } = await startMock({ extra: WORKERS });
  const found = arrange(mock);
  const page = await openPage(browser, options);
  try {
    await signIn(page, { url, user: 'admin', password: 'admin' });
    await page.getByText('live', { exact: true }).waitFor();
    await use(page, { url, mock, ...found });
  } finally {
    await page.context().close();
    await close();
  }
}

/** Goes to a screen and gives its picture. */
async function picture(page, world, [name, go], options) {
  try {
    await go(page, world);
    await page.mouse.move(0, 0);
    return await page.screenshot(options);
  } catch (error) {
    throw new Error(`no picture of ${name}`, { cause: error });
  }
}

/** The pages before anybody is signed in, and before there is an agent. */
async function first(browser, out, theme, [width, height]) {
  const { url, mock, close } = await startMock();
  mock.agents.clear();
  const page = await openPage(browser, { theme, width, height });
  await page.goto(url);
  await page.getByLabel('User name').waitFor();
  await page.screenshot({ path: join(out, `sign-in-${width}-${theme}.png`) });
  await signIn(page, { url, user: 'admin', password: 'admin' });
  await page.getByText('Waiting for an agent.').waitFor();
  await page.screenshot({ path: join(out, `first-run-${width}-${theme}.png`), fullPage: true });
  await page.context().close();
  await close();
}

async function all(browser, out, words) {
  const screens = SCREENS.filter(([name]) => !words || name.includes(words));
  for (const size of SIZES) {
    for (const theme of ['light', 'dark']) {
      if (!words || 'sign-in first-run'.includes(words)) await first(browser, out, theme, size);
      await signedIn(browser, { theme, width: size[0], height: size[1] }, async (page, world) => {
        for (const screen of screens) await picture(page, world, screen, { path: join(out, `${screen[0]}-${size[0]}-${theme}.png`), fullPage: screen[2]?.whole ?? false });
      });
    }
  }
}

/** The same picture in a quarter of the bytes; the letters stay sharp. */
async function smaller(browser, png) {
  const page = await browser.newPage();
  const url = await page.evaluate(async (source) => {
    const image = new Image();
    image.src = source;
    await image.decode();
    const canvas = document.createElement('canvas');
    [canvas.width, canvas.height] = [image.naturalWidth, image.naturalHeight];
    canvas.getContext('2d').drawImage(image, 0, 0);
    return canvas.toDataURL('image/webp', 0.86);
  }, `data:image/png;base64,${png.toString('base64')}`);
  await page.close();
  return Buffer.from(url.slice(url.indexOf(',') + 1), 'base64');
}

async function guide(browser) {
  mkdirSync(GUIDE, { recursive: true });
  for (const [name, theme, width, height] of CHOSEN) {
    const screen = SCREENS.find(([one]) => one === name);
    const file = [name, theme === 'dark' ? 'dark' : '', width < 400 ? 'phone' : ''].filter(Boolean).join('-');
    await signedIn(browser, { theme, width, height, scale: 1.5 }, async (page, world) => {
      writeFileSync(join(GUIDE, `${file}.webp`), await smaller(browser, await picture(page, world, screen)));
    });
  }
}

const [out = 'pictures', words] = process.argv.slice(2);
mkdirSync(out, { recursive: true });
const browser = await openBrowser();
try {
  await all(browser, out, words);
  if (!words) await guide(browser);
} finally {
  await browser.close();
}
console.log(`every screen in ${out}${words ? '' : `, the guide's pictures in ${GUIDE}`}`);
