// A machine from nothing, on the real binary with a real container engine: what a newcomer to hosts sees from the pasted
// command to the last thing removed. The machine is one of the lab's: tests/lab/test_console.py starts this on its wire.
import assert from 'node:assert/strict';
import { signIn } from './chromium.mjs';
import { look, write } from './steps.mjs';

const go = (page, name) => page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name, exact: true }).click();
const heading = (page, name) => page.getByRole('heading', { level: 1, name }).waitFor();
/** The steps that are ticked off, as they are read. */
const ticked = (page) => page.locator('li.done bdi').allInnerTexts();

/** The machine runs what the console shows; the console's list follows it, step by step, and is not touched meanwhile. */
async function becomesHost(page, { machine }) {
  await go(page, 'Hosts');
  await heading(page, 'No machine is a host yet.');
  await page.getByRole('button', { name: 'Make the command' }).click();
  const command = await page.getByRole('region', { name: 'command for the machine' }).innerText();
  await page.getByText('Waiting for the machine.').waitFor();
  assert.deepEqual(await ticked(page), []);

  await machine('engine', false);
  await machine('paste', command);
  await page.getByText(`joined as ${machine.name}`).waitFor();
  await page.getByText(`connected from ${machine.address}, agent `).waitFor();
  await page.getByText('its container engine answers: none does yet, install Docker or start it').waitFor();
  assert.equal((await ticked(page)).length, 2);
  await look(page, 'a machine without an engine');

  await machine('engine', true);
  await page.getByText(`engine ${machine.engine} answers`).waitFor();
  await page.getByRole('status').getByText('is ready.').waitFor();
  assert.equal((await ticked(page)).length, 4);
  await page.getByRole('status').getByRole('link', { name: machine.name }).click();
  await heading(page, machine.name);
  await page.getByText('no replica is meant to run there').waitFor();
  await page.getByText('no container engine answers there').waitFor({ state: 'hidden' });
  await look(page, 'the host');
}

/** Writes a file over what stands in the editor, reads its plan, and presses its button. */
async function deploy(page, { machine }, version, plan) {
  await write(page, await machine('file', version));
  for (const line of plan) await page.getByRole('list', { name: 'Plan' }).getByText(line).first().waitFor();
  await page.getByRole('button', { name: 'Deploy 1 service to 1 host', exact: true }).click();
}

/** The first deployment: its plan, its end, and each replica on its host, well. */
async function deploysFirst(page, server) {
  await go(page, 'Services');
  await page.getByRole('button', { name: 'Deploy', exact: true }).click();
  await deploy(page, server, 'v1', ['web new', `2 replicas, starts, on ${server.machine.name}`]);
  await heading(page, 'Deployment 1 of page is done: 1 service as it said.');
  await page.getByRole('link', { name: 'web', exact: true }).click();
  await heading(page, 'page/web runs as it should, with 2 replicas.');
  for (const replica of ['web-1', 'web-2']) {
    const row = page.getByRole('row', { name: new RegExp(`^${replica}`) });
    await row.getByText('healthy', { exact: true }).waitFor();
    await row.getByRole('link', { name: server.machine.name }).waitFor();
  }
  await look(page, 'a service that runs');
}

/** What the replicas print comes as they print it, of each of them. */
async function followsLogs(page, { machine }) {
  await page.getByRole('link', { name: 'Logs', exact: true }).click();
  await page.getByText('following', { exact: true }).waitFor();
  const lines = page.getByRole('log').locator('.line');
  const asked = lines.filter({ hasText: 'seen-in-the-console' });
  assert.equal(await asked.count(), 0);
  await machine('visit', '/seen-in-the-console');
  for (const replica of ['web-1', 'web-2']) await asked.filter({ hasText: replica }).first().waitFor();
  await look(page, 'real lines');
}

/** A release that cannot come is told in the engine's words, and nobody who asks the page notices. */
async function missingImage(page, server) {
  await page.getByRole('link', { name: 'page', exact: true }).first().click();
  await heading(page, 'Project page: the only service runs as it should.');
  await page.getByRole('button', { name: 'Deploy again' }).click();
  await deploy(page, server, 'none', ['web changed', 'image lab/web:v1 → lab/web:none']);
  await heading(page, 'Deployment 2 of page failed and was rolled back: the services run what they ran before.');
  await page.getByText('lab/web:none').first().waitFor();
  await look(page, 'a real deployment that was rolled back');
  await server.machine('kept', 'v1');
}

/** Another release, and the way back from it, without a gap. */
async function thereAndBack(page, server) {
  await page.getByRole('link', { name: 'page', exact: true }).first().click();
  await page.getByRole('button', { name: 'Deploy again' }).click();
  await deploy(page, server, 'v2', ['image lab/web:v1 → lab/web:v2']);
  await heading(page, 'Deployment 3 of page is done: 1 service as it said.');
  await server.machine('serves', 'v2');
  await page.getByRole('link', { name: 'web', exact: true }).click();
  await page.getByRole('button', { name: 'Roll back to release 1' }).first().click();
  await page.getByRole('button', { name: 'Roll 1 service back to release 1' }).click();
  await heading(page, 'Deployment 4 of page is done: 1 service as it said.');
  await server.machine('serves', 'v1');
  await server.machine('kept', 'v1');
}

/** All of it goes: the project, then the host. */
async function removes(page, { machine }) {
  await machine('leave');
  await page.getByRole('link', { name: 'page', exact: true }).first().click();
  await page.getByRole('button', { name: 'Remove this project' }).click();
  await page.getByLabel('Type page to go on').fill('page');
  await page.getByRole('button', { name: 'Remove 1 service' }).click();
  await heading(page, 'Deployment 5 of page is done: 1 service as it said.');
  await machine('gone');
  await go(page, 'Hosts');
  await page.getByRole('link', { name: machine.name, exact: true }).click();
  await page.getByRole('button', { name: 'Remove this host' }).click();
  await page.getByLabel(`Type ${machine.name} to go on`).fill(machine.name);
  await page.getByRole('button', { name: `Remove ${machine.name}` }).click();
  await heading(page, 'No machine is a host yet.');
}

async function fromNothing(page, server) {
  await signIn(page, server);
  await becomesHost(page, server);
  await deploysFirst(page, server);
  await followsLogs(page, server);
  await server.machine('serves', 'v1');
  await missingImage(page, server);
  await thereAndBack(page, server);
  await removes(page, server);
}

export const labCases = [['a machine becomes a host and runs what a person deploys, all of it in the console', fromNothing, { refusals: [401] }]];
