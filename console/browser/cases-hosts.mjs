// Hosts, driven against the mock: a machine becomes one, the list that changes in place, what can be done to a host, the
// agents on its machine, hostile text, roles.
import assert from 'node:assert/strict';
import { signInTo } from './chromium.mjs';
import { control, look, open, uidOf } from './steps.mjs';

const rowOf = (page, name) => page.locator(`tr[data-key="${name}"]`);
const HOSTILE = `'><img src=x onerror="document.title='owned'">\u202egnp`;

export const hostCases = [
  ['a machine becomes a host: one command, shown once, and a list that is ticked off', async (page, server) => {
    await control(server, 'host-clear');
    await signInTo(page, server, '/hosts');
    await page.getByRole('heading', { name: 'No machine is a host yet.' }).waitFor();
    await look(page, 'hosts without a host');
    await page.getByLabel('Name').fill('web-1');
    await page.getByLabel('Works for').selectOption('7 days');
    await page.getByText('muster hosts add web-1 --expires 7d').waitFor();
    await open(page, '/hosts/add');
    await page.getByLabel('Name').fill('Web 1');
    await page.getByRole('button', { name: 'Make the command' }).click();
    await page.getByText('No command was made: unprocessable').waitFor();
    await page.getByLabel('Name').fill('web-1');
    await page.getByLabel('Works for').selectOption('7 days');
    await page.getByRole('button', { name: 'Make the command' }).click();
    const command = await page.getByRole('region', { name: 'command for the machine' }).innerText();
    assert.match(command, /^curl .* 'mst_join_[0-9a-f]{32}'$/);
    await page.getByRole('row', { name: /^2 waiting, ends in 6 d web-1/ }).waitFor();
    const done = (amount) => page.waitForFunction((wanted) => document.querySelectorAll('li.done').length === wanted, amount);
    await done(0);
    await control(server, 'host-join');
    await page.getByText('joined as web-1').waitFor();
    await control(server, 'host-set', { host: 'web-1', state: 'online', address: '192.0.2.9' });
    await page.getByText('connected from 192.0.2.9, agent 0.1.0').waitFor();
    await page.getByText('its container engine answers: none does yet, install Docker or start it').waitFor();
    await done(2);
    await control(server, 'host-set', { host: 'web-1', engine: '29.1.3', problems: [] });
    await page.getByText('engine 29.1.3 answers').waitFor();
    await control(server, 'host-set', { host: 'web-1', in_sync: true, generation: 1 });
    await done(4);
    await look(page, 'a host that is ready');
    await page.getByRole('status').getByRole('link', { name: 'web-1' }).click();
    await page.getByRole('heading', { level: 1, name: 'web-1' }).waitFor();
    await page.goBack();
    await page.getByRole('button', { name: 'Make the command' }).waitFor();
    assert.equal(await page.getByText('mst_join_').count(), 0);
  }, { refusals: [422] }],

  ['the first machine that becomes a host leaves its command and list where they are', async (page, server) => {
    await control(server, 'host-clear');
    await signInTo(page, server, '/hosts');
    await page.getByRole('heading', { name: 'No machine is a host yet.' }).waitFor();
    await page.getByLabel('Name').fill('web-1');
    await page.getByRole('button', { name: 'Make the command' }).click();
    await page.getByText('Waiting for the machine.').waitFor();
    await control(server, 'host-join');
    await rowOf(page, 'web-1').waitFor();
    await page.getByText('joined as web-1').waitFor();
    await page.getByText('The command has been used and does not work again').click();
    assert.match(await page.getByRole('region', { name: 'command for the machine' }).innerText(), /mst_join_/);
    await look(page, 'the first host');
  }],

  ['a join token is taken back, and the list that waits for it says so', async (page, server) => {
    await signInTo(page, server, '/hosts/add');
    await page.getByRole('button', { name: 'Make the command' }).click();
    await page.getByText('Waiting for the machine.').waitFor();
    await page.getByRole('button', { name: 'Revoke join token 2' }).click();
    await page.getByRole('button', { name: 'Revoke 1 token' }).click();
    await page.getByRole('cell', { name: 'revoked' }).waitFor();
    await control(server, 'host-set', { host: 'eu-1', generation: 42 });
    await page.getByText('This command was taken back.').waitFor();
  }],

  ['the list of hosts says what is true, changes in place, and keeps its filter in the address', async (page, server) => {
    await signInTo(page, server, '/hosts');
    await page.getByRole('heading', { name: '2 of 3 hosts are online; 2 need you.' }).waitFor();
    assert.match(await rowOf(page, 'eu-2').textContent(), /online.*cordoned.*port 8080\/tcp is taken.*1 of 2.*93 %.*1\.1 GiB free/s);
    await rowOf(page, 'eu-2').evaluate((row) => (row.dataset.same = 'yes'));
    await control(server, 'host-set', { host: 'eu-2', state: 'offline', problems: ['it is not connected: its containers run on as they were'] });
    await rowOf(page, 'eu-2').getByText('offline').waitFor();
    assert.equal(await rowOf(page, 'eu-2').getAttribute('data-same'), 'yes');
    await page.getByRole('heading', { name: '1 of 3 hosts is online; 2 need you.' }).waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('zone=');
    await page.waitForURL(/q=zone/);
    await page.getByText('2 of 3 hosts.').waitFor();
    await page.getByLabel('Show').selectOption('needs you');
    await rowOf(page, 'eu-1').waitFor({ state: 'detached' });
    await page.reload();
    await rowOf(page, 'eu-2').waitFor();
    assert.equal(await page.locator('tbody tr').count(), 1);
    await page.getByText('as a command').click();
    await page.getByText('muster hosts list').waitFor();
  }],

  ['keys lead to the hosts and over their rows, and Esc back', async (page, server) => {
    await signInTo(page, server, '/agents');
    await page.locator('[data-row]').first().waitFor();
    await page.keyboard.press('g');
    await page.keyboard.press('h');
    await page.waitForURL(/\/hosts$/);
    await rowOf(page, 'edge-7').waitFor();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/hosts\/eu-1$/);
    await page.getByRole('heading', { level: 1, name: 'eu-1' }).waitFor();
    await page.keyboard.press('Escape');
    await page.waitForURL(/\/hosts$/);
  }],

  ['a host is labelled, renamed and cordoned; what somebody else changed meanwhile is said', async (page, server) => {
    await signInTo(page, server, '/hosts/eu-1');
    await page.getByText('4 of 4 replicas ready; 1 agent on it is unhealthy.').waitFor();
    await page.getByRole('button', { name: 'Edit labels' }).click();
    await page.getByLabel('One key=value in a line').fill('zone=a\ndisk=ssd');
    await page.getByRole('dialog').getByText('muster hosts set eu-1 -l disk=ssd').waitFor();
    await page.getByRole('button', { name: 'Save the labels of eu-1' }).click();
    await page.getByRole('link', { name: 'disk=ssd' }).waitFor();
    await page.getByRole('button', { name: 'Cordon' }).click();
    await page.getByText('The 4 replicas there run on until they are deployed elsewhere.').waitFor();
    // Nobody is told, so that what the page knows is old.
    server.mock.hosts.find('eu-1').version += 1;
    await page.getByRole('button', { name: 'Cordon eu-1' }).click();
    await page.getByText('It was not done: somebody else changed it meanwhile').waitFor();
    await page.getByRole('button', { name: 'Cordon eu-1' }).click();
    await page.getByRole('button', { name: 'Uncordon', exact: true }).waitFor();
    await page.getByRole('button', { name: 'Rename' }).click();
    await page.getByRole('dialog').getByLabel('Name').fill('EU');
    await page.getByText('Small letters, digits').waitFor();
    await page.getByRole('dialog').getByLabel('Name').fill('frankfurt-1');
    await page.getByRole('button', { name: 'Rename eu-1' }).click();
    await page.waitForURL(/\/hosts\/frankfurt-1$/);
    await page.getByRole('heading', { level: 1, name: 'frankfurt-1' }).waitFor();
  }, { refusals: [412] }],

  ['a host is removed with its name, once nothing is meant to run there', async (page, server) => {
    await signInTo(page, server, '/hosts/edge-7');
    await page.getByText('1 replica is meant to run here').waitFor();
    assert.equal(await page.getByRole('button', { name: 'Remove this host' }).isDisabled(), true);
    await page.getByRole('link', { name: 'Put another machine in its place' }).click();
    await page.getByText('muster hosts add --replace edge-7').waitFor();
    await open(page, '/hosts/edge-7');
    await control(server, 'host-set', { host: 'edge-7', replicas: 0, ready: 0 });
    await page.getByRole('button', { name: 'Remove this host' }).click();
    await page.getByText('containers that are there are left alone').waitFor();
    await page.getByLabel('Type edge-7 to go on').fill('edge-7');
    await page.getByRole('button', { name: 'Remove edge-7' }).click();
    await page.waitForURL(/\/hosts$/);
    await page.getByRole('heading', { name: 'All 2 hosts are online; 1 needs you.' }).waitFor();
    await open(page, '/hosts/edge-7');
    await page.getByRole('heading', { name: 'There is no such host.' }).waitFor();
    await open(page, '/activity?object=host');
    await page.getByTitle('host.remove').waitFor();
  }, { refusals: [404] }],

  ['what is wrong with a host is all in one place, and figures of one that is away say so', async (page, server) => {
    await signInTo(page, server, '/hosts/eu-2');
    const wrong = page.getByRole('status').filter({ hasText: 'What is wrong there' });
    for (const text of ['port 8080/tcp is taken', '3.9 GiB of', 'does not work', 'it has not applied what it was told last']) await wrong.getByText(text).waitFor();
    await open(page, '/hosts');
    await rowOf(page, 'edge-7').getByTitle(/^Memory: .*, as it was last$/).waitFor();
    await page.setViewportSize({ width: 360, height: 740 });
    await page.getByText(/free as it was last/).first().waitFor();
    await page.getByRole('link', { name: 'and 1 more' }).waitFor();
    await open(page, '/hosts/add');
    await page.getByRole('columnheader', { name: 'Number' }).waitFor();
    assert.equal(await page.getByRole('columnheader', { name: 'Actions' }).count(), 0);
  }],

  ['an agent and the host whose machine it is on lead to each other', async (page, server) => {
    await signInTo(page, server, '/hosts/eu-1');
    await page.getByRole('link', { name: 'otelcol-node' }).click();
    await page.waitForURL(new RegExp(uidOf(3)));
    await page.getByText('On the host').waitFor();
    await page.getByRole('link', { name: 'eu-1' }).click();
    await page.getByRole('link', { name: 'In the list of agents' }).click();
    await page.getByRole('heading', { name: '1 of 10 agents matches.' }).waitFor();
  }],

  ['s38 what a hostile host says is shown as text and does nothing', async (page, server) => {
    await control(server, 'host-set', { host: 'eu-2', problems: [HOSTILE], os: HOSTILE, engine: HOSTILE, agent_version: HOSTILE, machine_id: HOSTILE });
    await signInTo(page, server, '/hosts');
    await rowOf(page, 'eu-2').getByText(`'><img src=x onerror="document.title='owned'">`).last().waitFor();
    await rowOf(page, 'eu-2').getByRole('link').first().click();
    await page.getByRole('heading', { name: 'Facts' }).waitFor();
    assert.equal(await page.locator('main img, main script, main b, main i').count(), 0);
    assert.notEqual(await page.title(), 'owned');
    assert.equal(await page.evaluate(() => document.body.textContent.includes('\u202e')), false);
    await look(page, 'a hostile host');
  }, { refusals: [400] }],

  ['a viewer sees hosts and changes nothing', async (page, server) => {
    await signInTo(page, { ...server, user: 'viewer', password: 'viewer' }, '/hosts');
    await rowOf(page, 'eu-1').waitFor();
    assert.equal(await page.getByRole('button', { name: 'Add a host' }).isDisabled(), true);
    await open(page, '/hosts/eu-1');
    await page.getByRole('heading', { name: 'Facts' }).waitFor();
    for (const name of ['Cordon', 'Edit labels', 'Edit paths']) assert.equal(await page.getByRole('button', { name }).isDisabled(), true, name);
    await look(page, 'a host as a viewer sees it');
    await open(page, '/hosts/add');
    await page.getByRole('cell', { name: 'used' }).waitFor();
    assert.equal(await page.getByRole('button', { name: 'Make the command' }).isDisabled(), true);
  }],
];
