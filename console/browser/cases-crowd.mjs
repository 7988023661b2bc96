// A fleet of 100,000: the list stays small in the page however far one goes in it, and scrolls smoothly. Times are told,
// not judged: what is slow on a busy machine says nothing.
import assert from 'node:assert/strict';
import { agent } from '../mock/fleet.mjs';
import { control, signedIn, uidOf } from './steps.mjs';

const CROWD = 100_000;
const ROWS = 100;
const PAGES = 12;

/** Answers lists out of a fleet that nobody has to hold in memory. */
async function crowd(page, mock) {
  await page.route(/\/api\/v1\/agents(\?|$)/, (route) => {
    const query = new URL(route.request().url()).searchParams;
    const [from, limit] = [Number(query.get('cursor') || 0), Number(query.get('limit') || ROWS)];
    const numbers = Array.from({ length: Math.min(limit, CROWD - from) }, (_, at) => from + at + 1);
    const items = numbers.map((n) => mock.summary(agent(n, { name: `edge-${String(n).padStart(6, '0')}` })));
    return route.fulfill({ json: { items, next_cursor: from + limit < CROWD ? String(from + limit) : null, total: CROWD } });
  });
}

/** Scrolls from the top to the bottom, a little in each frame, and gives how long each frame took in ms. */
const scrolled = (page) => page.evaluate(async () => {
  const frame = () => new Promise(requestAnimationFrame);
  const times = [];
  window.scrollTo(0, 0);
  let last = await frame();
  while (window.scrollY + window.innerHeight < document.documentElement.scrollHeight - 1) {
    window.scrollBy(0, 80);
    const now = await frame();
    times.push(now - last);
    last = now;
  }
  return times;
});

const elements = (page) => page.evaluate(() => document.querySelectorAll('*').length);

export const crowdCases = [['a list of 100,000 agents stays small in the page and scrolls', async (page, server) => {
  await crowd(page, server.mock);
  await signedIn(page, server);
  await page.getByText(/^100 rows of 100.000$/).waitFor();
  const first = await elements(page);
  const frames = [];
  for (let at = 1; at <= PAGES; at += 1) {
    frames.push(...(await scrolled(page)));
    assert.equal(await page.locator('tbody tr').count(), ROWS);
    // Something happens to a row meanwhile, as it does in such a fleet.
    await control(server, 'set', { uid: uidOf(1), state: at % 2 ? 'silent' : 'connected' });
    await page.getByRole('link', { name: 'Next page' }).click();
    await page.getByText(new RegExp(`, page ${at + 1}$`)).waitFor();
    await page.getByRole('link', { name: `edge-${String(at * ROWS + 1).padStart(6, '0')}` }).waitFor();
  }
  const grown = (await elements(page)) - first;
  assert.ok(grown < first / 10, `${grown} more elements after ${PAGES} pages, of ${first} at first`);
  await page.goto(`${server.url}/agents?cursor=${CROWD - ROWS}&page=${CROWD / ROWS}`);
  await page.getByRole('link', { name: 'edge-100000' }).waitFor();
  assert.equal(await page.getByRole('link', { name: 'Next page' }).count(), 0);
  frames.sort((one, other) => one - other);
  const at = (part) => frames[Math.min(frames.length - 1, Math.floor(frames.length * part))].toFixed(1);
  console.log(`      ${frames.length} frames while scrolling: median ${at(0.5)} ms, 95 % below ${at(0.95)} ms, longest ${at(1)} ms; ${first} elements`);
}]];
