// Starts Debian's Chromium for the browser test and the pictures. It is driven by playwright-core, which brings no
// browser of its own; CHROMIUM names another binary.
import { chromium } from 'playwright-core';

// --no-sandbox: tests run as root in containers; the rest keeps the browser from calling home.
const FLAGS = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync',
  '--no-proxy-server',
];

/** The SHA-256 of the key that vouches for a real server, as the command line takes it; without it nothing is checked. */
const PIN = process.env.MUSTER_FINGERPRINT;

export async function openBrowser() {
  const trusted = PIN ? [`--ignore-certificate-errors-spki-list=${Buffer.from(PIN, 'hex').toString('base64')}`] : [];
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: [...FLAGS, ...trusted] });
}

/** A fresh profile: its own cookies and storage. */
export async function openPage(browser, { theme = 'light', width = 1440, height = 900, scale = 1 } = {}) {
  const context = await browser.newContext({
    colorScheme: theme, viewport: { width, height }, deviceScaleFactor: scale, ignoreHTTPSErrors: !PIN, reducedMotion: 'reduce', locale: 'en-GB',
  });
  const page = await context.newPage();
  page.setDefaultTimeout(Number(process.env.BROWSER_TIMEOUT_MS ?? 15_000));
  return page;
}

export async function signIn(page, { url, user, password }) {
  await page.goto(url);
  await page.getByLabel('User name').fill(user);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { level: 1, name: /agent/ }).waitFor();
}

/** Signs in and goes to a page of the console without loading it anew. */
export async function signInTo(page, server, path) {
  await signIn(page, server);
  await page.getByText('live', { exact: true }).waitFor();
  await page.evaluate((to) => (history.pushState(null, '', to), dispatchEvent(new PopStateEvent('popstate'))), path);
}

/** Where to sign in: a real server from the environment, or null. */
export function realServer(env = process.env) {
  if (!env.MUSTER_URL) return null;
  return { url: env.MUSTER_URL.replace(/\/$/, ''), user: env.MUSTER_USER ?? 'admin', password: env.MUSTER_PASSWORD ?? '' };
}
