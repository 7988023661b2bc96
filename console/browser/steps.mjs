// What many cases do: remote control of the mock, signing in, finding rows, writing into the editor, and the look at a
// page that every case on one ends with.
import assert from 'node:assert/strict';
import { scan } from './axe.mjs';
import { signInTo } from './chromium.mjs';

export const uidOf = (n) => `0195f0a0-7d0c-7cc0-8000-${n.toString(16).padStart(12, '0')}`;
export const rowOf = (page, n) => page.locator(`tr[data-key="${uidOf(n)}"]`);

export async function control(server, what, body = {}) {
  const answer = await fetch(`${server.url}/mock/${what}`, { method: 'POST', body: JSON.stringify(body) });
  assert.equal(answer.status, 204);
}

/** Signs in and waits for the list of agents. */
export async function signedIn(page, server) {
  await signInTo(page, server, '/agents');
  await page.locator('[data-row]').first().waitFor();
}

/** To another page without loading the console anew. */
export async function open(page, path) {
  await page.evaluate((to) => (history.pushState(null, '', to), dispatchEvent(new PopStateEvent('popstate'))), path);
}

/** Replaces the text in the editor. */
export async function write(page, text) {
  await page.getByRole('textbox', { name: 'Text of the file' }).click();
  await page.keyboard.press('ControlOrMeta+a');
  await page.keyboard.insertText(text);
}

/** axe, and no scrolling sideways. */
export async function look(page, where) {
  await scan(page, where);
  const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.equal(over, 0, `${where} is ${over} px wider than the window`);
}
