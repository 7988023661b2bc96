// A newcomer and the demo agent of `make run`, on the real binary: a configuration given, broken, and taken back, once
// in the console and once on the command line while the console looks on.
import assert from 'node:assert/strict';
import { cli } from './dev-server.mjs';
import { look, write } from './steps.mjs';

const GOOD = 'receivers:\n  otlp:\nexporters:\n  debug:\nservice:\n  pipelines:\n    traces:\n      receivers: [otlp]\n      exporters: [debug]\n';
/** The demo agent has no such exporter, and says so as a Collector does. */
const BROKEN = GOOD.replaceAll('debug', 'carrier_pigeon');
const REASON = /exporters: there is no type "carrier_pigeon" for "carrier_pigeon"/;
const DEMO = 'service.name=demo-agent';

/** Signs in at the address and with the login that `muster dev` printed. */
async function arrive(page, server) {
  await page.goto(server.url);
  await page.getByLabel('User name').fill(server.user);
  await page.getByLabel('Password').fill(server.password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { level: 1, name: /^1 agent: 1 connected/ }).waitFor();
  await page.getByText('live', { exact: true }).waitFor();
}

/** From wherever one is to the page of the demo agent, by clicks. */
async function toDemoAgent(page) {
  await page.getByRole('link', { name: 'Agents', exact: true }).click();
  await page.locator('tbody').getByRole('link', { name: 'demo-agent' }).click();
  await page.getByRole('heading', { level: 1, name: 'demo-agent' }).waitFor();
}

async function inSync(page, what) {
  await page.getByText(`${what}: runs the configuration that it was given.`).waitFor();
}

/** Saves what was written and waits for the page that says so. */
async function saved(page, revision) {
  await page.getByText(/The server finds nothing wrong|It can be saved all the same/).waitFor();
  await page.getByRole('button', { name: `Save as revision ${revision}` }).click();
  await page.getByText(`Revision ${revision} is the latest`).waitFor();
}

async function newcomer(page, server) {
  await arrive(page, server);
  await toDemoAgent(page);
  await page.getByText('This server gives it no configuration.').waitFor();
  await page.getByText('collection_interval: 10s').waitFor();

  await page.getByRole('link', { name: 'Configurations', exact: true }).click();
  await page.getByRole('button', { name: 'New configuration' }).click();
  await page.getByLabel('Name', { exact: true }).fill('first');
  await write(page, GOOD);
  await saved(page, 1);
  await page.getByRole('link', { name: 'Assign to agents' }).click();
  await page.getByRole('combobox', { name: 'Agents, by selector' }).fill(DEMO);
  await page.getByRole('heading', { name: /^1 of 1 agent that matches would get first revision 1/ }).waitFor();
  await page.getByRole('button', { name: 'Assign to 1 agent' }).click();
  await page.getByRole('heading', { name: 'first revision 1 is assigned. 1 of 1 agent has it.' }).waitFor();
  await toDemoAgent(page);
  await inSync(page, 'first revision 1');
  await look(page, 'the demo agent in sync');
}

async function broken(page) {
  await page.getByRole('link', { name: 'Configurations', exact: true }).click();
  await page.getByRole('link', { name: 'first', exact: true }).click();
  await page.getByRole('button', { name: 'Edit' }).click();
  await page.getByText('Nothing is changed yet.').waitFor();
  await write(page, BROKEN);
  await saved(page, 2);
  await page.getByRole('link', { name: 'Roll out revision 2 there' }).click();
  await page.getByRole('button', { name: 'Roll out to 1 agent' }).click();
  await page.getByText(/^Paused by itself.*: 1 agent failed\.$/).waitFor();
  await page.getByText(REASON).first().waitFor();
  await look(page, 'the rollout that the demo agent stopped');
  await page.getByRole('alert').filter({ hasText: 'Paused by itself' }).getByRole('link').click();
  await page.getByText('The agent could not apply it.').waitFor();
  await page.getByText(REASON).first().waitFor();
  await look(page, 'the demo agent that failed');
}

async function rolledBack(page) {
  await page.getByRole('link', { name: 'Assignments', exact: true }).click();
  await page.locator('tbody tr', { hasText: 'gets first' }).locator('[data-row]').click();
  await page.getByRole('button', { name: 'Roll back to revision 1' }).click();
  await page.getByRole('button', { name: 'Roll back 1 agent' }).click();
  await page.getByRole('heading', { name: 'first revision 1 is assigned. 1 of 1 agent has it.' }).waitFor();
  await toDemoAgent(page);
  await inSync(page, 'first revision 1');
}

/** The id of the assignment of a configuration, as a script finds it. */
async function assignmentOf(server, config) {
  const { items } = JSON.parse(await cli(server, ['assignments', 'list', '--config', config, '-o', 'json']));
  assert.equal(items.length, 1);
  return items[0].id;
}

async function byCommands(page, server) {
  await arrive(page, server);
  await toDemoAgent(page);
  const files = { 'shop.yaml': GOOD.replace('  otlp:', '  otlp: {}') };
  assert.match(await cli(server, ['configs', 'apply', 'shop', '-f', 'shop.yaml', '-m', 'from a script'], { files }), /created: revision 1/);
  assert.match(await cli(server, ['configs', 'apply', 'shop', '-f', 'shop.yaml']), /unchanged/);
  await cli(server, ['assignments', 'create', 'shop', '-l', DEMO, '--priority', '10', '--yes', '--wait']);
  // The page was never touched: it follows by itself.
  await inSync(page, 'shop revision 1');

  await cli(server, ['configs', 'apply', 'shop', '-f', 'shop.yaml', '-m', 'a mistake'], { files: { 'shop.yaml': BROKEN } });
  const id = await assignmentOf(server, 'shop');
  // 5: the rollout stopped before everybody had it.
  const said = await server.cli(['assignments', 'set-revision', id, '2', '--yes', '--wait']);
  assert.equal(said.code, 5, said.out + said.err);
  assert.match(said.out + said.err, REASON);
  await page.getByText('The agent could not apply it.').waitFor();
  await page.getByText(REASON).first().waitFor();

  await cli(server, ['assignments', 'rollback', id, '1', '--yes', '--wait']);
  await inSync(page, 'shop revision 1');
  // What happened and why stands on the agent's page, and the command says the same.
  await page.getByRole('region', { name: 'What happened' }).getByTitle('assignment.set-revision').first().waitFor();
  const { uid } = /agents\/(?<uid>[0-9a-f-]+)$/.exec(page.url()).groups;
  assert.match(await cli(server, ['agents', 'timeline', uid]), /assignment\.set-revision/);
  // It reports its health again and again, so there is soon a message.
  await page.getByText('Messages as they pass').click();
  await page.getByText('→ from agent').first().waitFor();
  await page.getByText('← to agent').first().waitFor();
  await look(page, 'the demo agent with its messages');

  await page.getByRole('link', { name: 'Activity', exact: true }).click();
  await page.getByText('a mistake').first().waitFor();
  await page.getByTitle('assignment.set-revision').first().waitFor();
  await cli(server, ['assignments', 'rm', id, '--yes']);
}

const REFUSALS = { refusals: [401] };

export const demoCases = [
  ['a newcomer gives the demo agent a configuration, breaks it, sees why, and rolls back', async (page, server) => {
    await newcomer(page, server);
    await broken(page);
    await rolledBack(page);
  }, REFUSALS],
  ['the console shows what the command line does to the demo agent', byCommands, REFUSALS],
];
