// Every screen of the console, each brought into a state worth looking at: what is photographed by pictures.mjs and
// scanned by the tests. A new page gets a row here, and with it pictures in all sizes and a look by axe.
import assert from 'node:assert/strict';
import { open, rowOf, uidOf, write } from './steps.mjs';

/** How many workers the fleet has beside its eleven agents of every kind. */
export const WORKERS = 28;
/** The worker that cannot take what it is given, so that a rollout stands paused. */
const SICK = 19;
const SICK_SAYS = 'cannot start pipelines: listen tcp 0.0.0.0:4317: bind: address already in use';

/** Makes the fleet of a picture: no hostile agent, and a rollout that stopped at a failure. */
export function arrange(mock) {
  mock.agents.delete(uidOf(8));
  const edge = [...mock.agents.values()].filter((agent) => agent.labels.tier === 'worker');
  edge.forEach((agent, at) => Object.assign(agent, { name: 'otelcol-edge', version: ['0.149.0', '0.149.0', '0.147.0', '0.142.0'][at % 4], host: `edge-${String(at + 1).padStart(2, '0')}.eu.example.net` }));
  mock.rollouts.failing.set(uidOf(SICK), SICK_SAYS);
  const made = mock.rollouts.create({ config: 'node', revision: 2, selector: 'tier=worker', batch_percent: 25 }, 'operator');
  mock.access.audit('operator', 'assignment.create', `assignment/${made.id}`, null, { config: 'node', revision: 2, selector: 'tier=worker', batch_percent: 25 });
  for (let moment = 0; moment < 60 && made.state === 'rolling'; moment += 1) mock.rollouts.tick();
  assert.equal(made.state, 'paused');
  return { paused: made.id };
}

/** A file that says something else than what runs, and uses a variable. */
const DEPLOYED = 'name: shop\nservices:\n  web:\n    image: nginx:${TAG}\n    ports: ["8080:80"]\n    deploy: {replicas: 3}\n  db:\n    image: postgres:18\n';

const heading = (page, name) => page.getByRole('heading', { name }).first().waitFor();
const rows = (page) => page.locator('[data-row]').first().waitFor();

async function agent(page, n) {
  await open(page, `/agents/${uidOf(n)}`);
  await heading(page, 'Identity');
}

/** Name, what it takes to get there once signed in, and whether the whole page is wanted instead of one window full. */
export const SCREENS = [
  ['overview', async (page) => (await open(page, '/'), await heading(page, 'Versions'), await heading(page, 'Hosts')), { whole: true }],
  ['agents', async (page) => (await open(page, '/agents'), await rows(page), await page.keyboard.press('ArrowDown'))],
  ['agents-marked', async (page) => {
    await open(page, '/agents?selector=tier%3Dworker');
    await rows(page);
    for (const n of [12, 13, 14]) await rowOf(page, n).getByRole('checkbox').check();
    await page.getByText('3 agents marked').waitFor();
  }],
  ['agents-selector-wrong', async (page) => (await open(page, '/agents?selector=a%20%3D%3D%3D%3D%20b'), await page.getByRole('alert').waitFor()), { refusals: [400] }],
  ['agents-none', async (page) => (await open(page, '/agents?q=nobody'), await page.getByText('No agent matches.').waitFor())],
  ['agents-completion', async (page) => {
    await open(page, '/agents');
    await rows(page);
    await page.getByRole('combobox', { name: 'Selector' }).fill('os');
    await page.getByRole('option').first().waitFor();
    await page.keyboard.press('ArrowDown');
    await page.locator('[role=option][aria-selected=true]').waitFor();
  }],
  ['agent', async (page) => (await agent(page, 3), await page.getByText('export failed: 429').waitFor()), { whole: true }],
  ['agent-failed', async (page) => agent(page, 4), { whole: true }],
  ['agent-drifted', async (page) => {
    await agent(page, 9);
    await page.getByText('Offered against effective, line by line').click();
    await page.getByRole('region', { name: 'Difference of configuration.yaml' }).waitFor();
  }, { whole: true }],
  ['agent-extension', async (page) => agent(page, 2), { whole: true }],
  ['agents-columns', async (page) => {
    // Away from the suggestions that the screen before may have left open.
    await open(page, '/');
    await open(page, '/agents');
    await rows(page);
    await page.getByRole('button', { name: 'Columns' }).click();
    await page.getByRole('dialog').waitFor();
  }],
  ['configurations', async (page) => (await open(page, '/configs'), await rows(page))],
  ['configuration', async (page) => (await open(page, '/configs/gateway'), await heading(page, 'History')), { whole: true }],
  ['revision', async (page) => (await open(page, '/configs/gateway/revisions/3'), await heading(page, 'gateway revision 3'), await page.getByText('debug').first().waitFor()), { whole: true }],
  ['edit', async (page) => {
    await open(page, '/configs/gateway/edit');
    await page.getByText('Nothing is changed yet.').waitFor();
    await write(page, 'receivers:\n  otlp:\nexporters:\n  debug:\nservice:\n  pipelines:\n    traces:\n      receivers: [otlp]\n      exporters: [debug, elsewhere]\n');
    await page.getByText('1 warning. It can be saved all the same.').waitFor();
  }, { whole: true }],
  ['edit-wrong', async (page) => {
    await open(page, '/configs/node/edit');
    await page.getByText('Nothing is changed yet.').waitFor();
    await write(page, 'a: [1\nb: c\n');
    await page.locator('.problem.error').first().waitFor();
  }],
  ['new-configuration', async (page) => (await open(page, '/new-config'), await page.getByLabel('Name', { exact: true }).waitFor())],
  ['assignments', async (page) => (await open(page, '/assignments'), await rows(page))],
  ['assign', async (page) => (await open(page, '/new-assignment?config=gateway&selector=tier%3Dworker&priority=10'), await rows(page)), { whole: true }],
  ['assign-completion', async (page) => {
    await open(page, '/new-assignment?config=node');
    await rows(page);
    await page.getByRole('combobox', { name: 'Agents, by selector' }).fill('ser');
    await page.getByRole('option', { name: 'service.name', exact: true }).waitFor();
  }],
  ['rollout', async (page, { paused }) => (await open(page, `/assignments/${paused}`), await heading(page, 'Failures'), await rows(page)), { whole: true }],
  ['hosts', async (page) => (await open(page, '/hosts'), await rows(page), await page.keyboard.press('ArrowDown'))],
  ['hosts-none', async (page) => (await open(page, '/hosts?q=nobody'), await page.getByText('No host matches.').waitFor())],
  ['host', async (page) => (await open(page, '/hosts/eu-1'), await heading(page, 'What was done to it'), await page.getByRole('link', { name: 'otelcol-node' }).waitFor()), { whole: true }],
  ['host-in-need', async (page) => (await open(page, '/hosts/eu-2'), await page.getByText('ended with exit code 1').waitFor()), { whole: true }],
  ['host-offline', async (page) => (await open(page, '/hosts/edge-7'), await page.getByText('no answer from the control plane').waitFor()), { whole: true }],
  ['host-labels', async (page) => {
    await open(page, '/hosts/eu-1');
    await page.getByRole('button', { name: 'Edit labels' }).click();
    await page.getByLabel('One key=value in a line').fill('zone=b');
    await page.getByRole('dialog').getByText('muster hosts set eu-1 -l zone=b').waitFor();
  }],
  ['host-cordon', async (page) => (await open(page, '/hosts/edge-7'), await page.getByRole('button', { name: 'Cordon' }).click(), await page.getByRole('dialog').getByText('muster hosts set edge-7 --cordon').waitFor())],
  ['host-add', async (page, { mock }) => {
    await open(page, '/hosts/add');
    await page.getByLabel('Name').fill('eu-3');
    await page.getByRole('button', { name: 'Make the command' }).click();
    await page.getByText('Waiting for the machine.').waitFor();
    mock.hosts.join();
    await page.getByText('joined as eu-3').waitFor();
  }, { whole: true }],
  ['services', async (page) => (await open(page, '/services'), await rows(page)), { whole: true }],
  ['services-none', async (page) => (await open(page, '/services?q=nothing-is-called-so'), await page.getByText('No service matches.').waitFor())],
  ['service', async (page) => (await open(page, '/services/shop/web'), await heading(page, 'Releases'), await page.getByText('still could not bind()').waitFor()), { whole: true }],
  ['service-roll-back', async (page) => {
    await open(page, '/services/shop/web');
    await page.getByRole('button', { name: 'Roll back to release 2' }).click();
    await page.getByText('This is taken back:').waitFor();
  }],
  ['service-scale', async (page) => {
    // Away from the question that the screen before has asked.
    await open(page, '/services');
    await open(page, '/services/shop/web');
    await page.getByRole('button', { name: 'Scale' }).click();
    await page.getByRole('spinbutton', { name: 'Replicas' }).fill('5');
    await page.getByText('2 replicas are started').waitFor();
  }],
  ['service-project', async (page) => (await open(page, '/projects/shop'), await heading(page, 'Volumes'), await page.getByText('version 2, 24 bytes').waitFor()), { whole: true }],
  ['service-deploy', async (page) => {
    await open(page, '/deploy?project=shop');
    await write(page, DEPLOYED);
    await page.getByLabel(/^TAG/).fill('1.30');
    await page.getByText('image nginx:1.29 → nginx:1.30').waitFor();
    await page.getByText('The secret mail of shop').waitFor({ state: 'hidden' });
  }, { whole: true }],
  ['service-deploy-wants', async (page) => {
    await open(page, '/deploy?project=shop');
    await write(page, `${DEPLOYED}secrets:\n  mail: {external: true}\n`);
    await page.getByLabel(/^TAG/).fill('1.30');
    await page.getByText('The secret mail of shop').waitFor();
  }, { whole: true }],
  ['service-deploy-wrong', async (page) => {
    await open(page, '/deploy?project=shop');
    await write(page, 'services:\n  web:\n    image: nginx:1.30\n    privileged: true\n');
    await page.getByText('1 error. It cannot be deployed with errors.').waitFor();
  }],
  ['service-deployments', async (page) => (await open(page, '/deployments'), await rows(page))],
  ['service-deployment-back', async (page) => (await open(page, '/deployments/4'), await heading(page, 'Deployment 4 of shop'), await page.getByText('Look at the logs').waitFor()), { whole: true }],
  ['service-logs', async (page) => {
    await open(page, '/logs?project=shop');
    await page.getByText('following').waitFor();
    await page.getByText('checkpoint complete').last().waitFor();
  }],
  ['service-logs-search', async (page) => {
    await open(page, '/logs?project=shop&service=web&contains=502');
    await page.getByText('HTTP/1.1" 502').first().waitFor();
    await page.getByLabel('Times').check();
  }],
  ['activity', async (page) => (await open(page, '/activity'), await page.getByTitle('config.revise').first().waitFor())],
  ['settings', async (page) => (await open(page, '/settings'), await page.getByText('dashboards').waitFor()), { whole: true }],
  ['connect', async (page) => {
    await open(page, '/connect');
    await page.getByRole('button', { name: 'Make a token' }).click();
    await page.getByText(/^export OPAMP_TOKEN=/).waitFor();
  }, { whole: true }],
  ['no-such-page', async (page) => (await open(page, '/somewhere'), await heading(page, 'There is no such page.'))],
  ['keys', async (page) => (await open(page, '/'), await heading(page, 'Versions'), await page.keyboard.press('?'), await page.getByRole('dialog', { name: 'Keys' }).waitFor())],
];
