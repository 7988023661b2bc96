// The whole story of a configuration, on the mock and on a real server: written, given to one agent and seen applied;
// then a broken revision, seen failed with the agent's reason; then rolled back and seen applied again. It needs one
// connected agent that accepts a configuration and refuses what it was not built with.
import { scan } from './axe.mjs';
import { signInTo } from './chromium.mjs';
import { open, write } from './steps.mjs';

const GOOD = 'receivers:\n  otlp:\nexporters:\n  debug:\nservice:\n  pipelines:\n    traces:\n      receivers: [otlp]\n      exporters: [debug]\n';
/** No agent has such an exporter; agents that look at words instead of components are told by the comment. */
const BROKEN = `# made to fail\n${GOOD.replaceAll('debug', 'nosuch')}`;

/** A selector that only this agent meets. */
async function selectorOf(page, uid) {
  const agent = await page.evaluate(async (id) => (await fetch(`/api/v1/agents/${id}`)).json(), uid);
  return agent.instance_id ? `service.instance.id=${agent.instance_id}` : `service.name=${agent.name}`;
}

async function save(page, text, revision) {
  await write(page, text);
  await page.getByText(/The server finds nothing wrong|It can be saved all the same/).waitFor();
  await page.getByRole('button', { name: `Save as revision ${revision}` }).click();
  await page.getByText(`Revision ${revision} is the latest`).waitFor();
}

export async function story(page, server) {
  const stamp = Date.now().toString(36);
  const name = `story-${stamp}`;
  await signInTo(page, server, '/new-config');
  await page.getByLabel('Name', { exact: true }).fill(name);
  await save(page, GOOD, 1);

  await open(page, '/agents?state=connected');
  const row = page.locator('tbody tr', { hasNotText: 'not configurable' }).first();
  await row.waitFor();
  const uid = await row.getAttribute('data-key');
  await open(page, `/new-assignment?selector=${encodeURIComponent(await selectorOf(page, uid))}`);
  await page.getByLabel('Configuration').selectOption(name);
  await page.getByLabel('Priority').fill('100');
  await page.getByRole('button', { name: 'Assign to 1 agent' }).click();
  await page.getByRole('heading', { name: `${name} revision 1 is assigned. 1 of 1 agent has it.` }).waitFor();
  const assignment = new URL(page.url()).pathname;
  await open(page, `/agents/${uid}`);
  await page.getByText(`${name} revision 1: runs the configuration that it was given.`).waitFor();
  await scan(page, 'an agent in sync');

  await open(page, `/configs/${name}/edit`);
  await page.getByText('Nothing is changed yet.').waitFor();
  await save(page, BROKEN, 2);
  await page.getByRole('link', { name: 'Roll out revision 2 there' }).click();
  await page.getByRole('button', { name: 'Roll out to 1 agent' }).click();
  await page.getByText(/^Paused by itself.*: 1 agent failed\.$/).waitFor();
  await page.getByRole('heading', { name: 'Failures' }).waitFor();
  await scan(page, 'a rollout that failed');
  await open(page, `/agents/${uid}`);
  await page.getByText('The agent could not apply it.').waitFor();

  await open(page, assignment);
  await page.getByRole('button', { name: 'Roll back to revision 1' }).click();
  await page.getByRole('button', { name: 'Roll back 1 agent' }).click();
  await page.getByRole('heading', { name: `${name} revision 1 is assigned. 1 of 1 agent has it.` }).waitFor();
  await open(page, `/agents/${uid}`);
  await page.getByText(`${name} revision 1: runs the configuration that it was given.`).waitFor();

  await open(page, assignment);
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('button', { name: 'Delete 1 assignment' }).click();
  await page.waitForURL(/\/assignments$/);
  await open(page, `/activity?object=${encodeURIComponent(assignment.slice(1).replace('assignments', 'assignment'))}`);
  for (const action of ['create', 'set-revision', 'delete']) await page.getByTitle(`assignment.${action}`).first().waitFor();
}
