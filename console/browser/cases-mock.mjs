// What is checked against the mock server: everything an operator does on these pages, and what agents and the network
// do to them meanwhile. Cases wait for states, never for moments. Configurations, assignments, access and hosts have
// files of their own.
import assert from 'node:assert/strict';
import { scan } from './axe.mjs';
import { accessCases } from './cases-access.mjs';
import { agentCases } from './cases-agents.mjs';
import { assignmentCases } from './cases-assignments.mjs';
import { signIn } from './chromium.mjs';
import { configCases } from './cases-configs.mjs';
import { crowdCases } from './cases-crowd.mjs';
import { hostCases } from './cases-hosts.mjs';
import { lookCases } from './cases-looks.mjs';
import { serviceCases } from './cases-services.mjs';
import { story } from './story.mjs';
import { control, open, rowOf, signedIn, uidOf } from './steps.mjs';

const focusedRow = (page) => page.evaluate(() => document.activeElement?.closest('tr')?.dataset.key ?? null);

const using = [
  ['a wrong password is said, the right one leads to the page that was asked for', async (page, server) => {
    await page.goto(`${server.url}/agents/${uidOf(1)}`);
    await page.getByLabel('User name').fill('admin');
    await page.getByLabel('Password').fill('wrong');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('The name or the password is wrong.').waitFor();
    await page.getByText('muster admin reset-login').waitFor();
    await page.getByLabel('Password').fill('admin');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'otelcol-gateway' }).waitFor();
  }],

  ['the list says what is true and shows the table', async (page, server) => {
    await signedIn(page, server);
    await page.getByRole('heading', { name: '10 agents: 8 connected, 1 silent, 1 disconnected. 1 unhealthy.' }).waitFor();
    assert.equal(await page.locator('tbody tr').count(), 10);
    assert.match(await rowOf(page, 2).textContent(), /not configurable/);
    assert.match(await rowOf(page, 3).textContent(), /connected.*unhealthy/s);
  }],

  ['s38 a hostile name is shown as text and does nothing', async (page, server) => {
    await signedIn(page, server);
    const row = rowOf(page, 8);
    await row.getByText(`'><img src=x onerror="document.title='owned'">`).waitFor();
    assert.equal(await page.locator('tbody img, tbody script, tbody b, tbody i').count(), 0);
    await row.getByRole('link').click();
    await page.getByRole('heading', { name: 'Identity' }).waitFor();
    assert.equal(await page.locator('main img, main script, main b, main i').count(), 0);
    assert.notEqual(await page.title(), 'owned');
    assert.equal(await page.evaluate(() => document.body.textContent.includes('\u202e')), false);
  }],

  ['search, filters, selector and sort are in the address and survive a reload', async (page, server) => {
    await signedIn(page, server);
    await page.keyboard.press('/');
    await page.keyboard.type('otelcol');
    await page.waitForURL(/q=otelcol/);
    await page.getByRole('heading', { name: '5 of 10 agents match.' }).waitFor();
    await page.getByLabel('Health').selectOption('unhealthy');
    await page.getByRole('heading', { name: '1 of 10 agents matches.' }).waitFor();
    await page.reload();
    await page.getByRole('heading', { name: '1 of 10 agents matches.' }).waitFor();
    assert.equal(await page.getByLabel('Search').inputValue(), 'otelcol');
    await page.goto(`${server.url}/agents?selector=service.name%3Dotelcol-vm&replaced=true`);
    await page.getByRole('heading', { name: '2 of 10 agents match.' }).waitFor();
    assert.equal(await page.getByLabel('show replaced').isChecked(), true);
    await page.goto(`${server.url}/agents`);
    await page.getByRole('button', { name: 'Last seen' }).click();
    await page.waitForURL(/sort=last_seen/);
    await page.getByRole('button', { name: 'Last seen' }).click();
    await page.waitForURL(/sort=-last_seen/);
    await page.getByRole('columnheader', { name: 'Last seen' }).and(page.locator('[aria-sort=descending]')).waitFor();
    await page.goBack();
    await page.waitForURL(/sort=last_seen/);
  }],

  ['a selector that cannot be read is marked at its place', async (page, server) => {
    await signedIn(page, server);
    await page.getByRole('combobox', { name: 'Selector' }).fill('host.name=a, =b');
    await page.getByRole('combobox', { name: 'Selector' }).press('Enter');
    await page.getByText("column 14: expected a key, found '='").waitFor();
    // Nothing of an older list stands there as if it were the answer.
    await page.getByRole('heading', { name: 'No agents are shown: the selector cannot be read.' }).waitFor();
    assert.equal(await page.locator('[data-row]').count(), 0);
    assert.equal(await page.getByRole('combobox', { name: 'Selector' }).getAttribute('aria-invalid'), 'true');
    await page.getByRole('combobox', { name: 'Selector' }).press('Escape');
    await page.getByRole('heading', { name: /^10 agents/ }).waitFor();
  }, { refusals: [400] }],

  ['a selector that is half written does not call back who goes elsewhere', async (page, server) => {
    await signedIn(page, server);
    await page.getByRole('combobox', { name: 'Selector' }).fill('os');
    await page.getByRole('option', { name: 'os.type' }).waitFor();
    await page.keyboard.press('Escape');
    // By the address, as a link in a message does: without a click that takes the focus first.
    await open(page, `/agents/${uidOf(1)}`);
    await page.getByRole('heading', { name: 'Identity' }).waitFor();
    await page.getByRole('region', { name: 'What happened' }).getByText('connected').first().waitFor();
    assert.ok(page.url().endsWith(uidOf(1)), page.url());
  }],

  ['replaced agents are folded away until asked for', async (page, server) => {
    await signedIn(page, server);
    assert.equal(await rowOf(page, 11).count(), 0);
    assert.match(await rowOf(page, 10).textContent(), /replacement/);
    await page.getByLabel('show replaced').check();
    await rowOf(page, 11).waitFor();
    await rowOf(page, 11).getByRole('link').click();
    await page.getByRole('link', { name: 'Go to the agent that took its place' }).click();
    await page.waitForURL(new RegExp(uidOf(10)));
  }],

  ['a long list is read page by page', async (page, server) => {
    await signedIn(page, server);
    await page.getByText('100 rows of 160').waitFor();
    await page.getByRole('link', { name: 'Next page' }).click();
    await page.getByText('60 rows of 160, page 2').waitFor();
    await page.reload();
    await page.getByText('60 rows of 160, page 2').waitFor();
    await page.getByRole('link', { name: 'First page' }).click();
    await page.getByText('100 rows of 160').waitFor();
  }, { extra: 150 }],
];

const live = [
  ['a row turns silent in place and the sentence follows', async (page, server) => {
    await signedIn(page, server);
    await rowOf(page, 1).evaluate((row) => (row.marked = true));
    await control(server, 'set', { uid: uidOf(1), state: 'silent' });
    await rowOf(page, 1).getByText('silent', { exact: true }).waitFor();
    assert.equal(await rowOf(page, 1).evaluate((row) => row.marked), true);
    await page.getByRole('heading', { name: /7 connected, 2 silent/ }).waitFor();
  }],

  ['a new agent is announced, not pushed in', async (page, server) => {
    await signedIn(page, server);
    await control(server, 'add', { n: 50, name: 'aaa-first' });
    const announced = page.getByRole('button', { name: '1 new: show it' });
    await announced.waitFor();
    assert.equal(await rowOf(page, 50).count(), 0);
    await announced.click();
    await rowOf(page, 50).waitFor();
    await announced.waitFor({ state: 'detached' });
  }],

  ['an agent that is forgotten elsewhere stays in its place, marked', async (page, server) => {
    await signedIn(page, server);
    await control(server, 'remove', { uid: uidOf(7) });
    await rowOf(page, 7).getByText('forgotten').waitFor();
  }, { refusals: [404] }],

  ['a lost stream is shown, heals, and what was missed is read', async (page, server) => {
    await signedIn(page, server);
    await control(server, 'streams', { refuse: true });
    await page.getByText(/not live.*trying again/).waitFor();
    await control(server, 'set', { uid: uidOf(1), state: 'disconnected' });
    await control(server, 'streams', { refuse: false });
    await page.getByText('live', { exact: true }).waitFor();
    await rowOf(page, 1).getByText('disconnected').waitFor();
  }, { refusals: [503, 'net::ERR_INCOMPLETE_CHUNKED_ENCODING'] }],

  ['an empty fleet teaches, and the first agent turns up by itself', async (page, server) => {
    await control(server, 'clear');
    await signIn(page, server);
    await page.getByRole('heading', { name: 'No agent has connected yet.' }).waitFor();
    await page.getByText('Waiting for an agent.').waitFor();
    await page.getByText('endpoint: wss://muster.example.net:4320/v1/opamp').waitFor();
    await scan(page, 'the empty list');
    await page.getByText('live', { exact: true }).waitFor();
    await page.getByRole('link', { name: 'Agents', exact: true }).click();
    await page.getByText('Waiting for an agent.').waitFor();
    await control(server, 'add', { n: 1, name: 'first' });
    await rowOf(page, 1).getByText('connected').waitFor();
    await page.getByRole('heading', { name: '1 agent: 1 connected.' }).waitFor();
  }],

  ['a session that ends elsewhere leads back to signing in', async (page, server) => {
    await signedIn(page, server);
    await control(server, 'expire');
    await control(server, 'set', { uid: uidOf(1), state: 'silent' });
    await page.getByText('Your session has ended.').waitFor();
    await page.getByLabel('User name').fill('admin');
    await page.getByLabel('Password').fill('admin');
    await page.keyboard.press('Enter');
    await rowOf(page, 1).getByText('silent', { exact: true }).waitFor();
  }],
];

const overview = [
  ['the overview says what is true of configurations and leads to the agents that it counts', async (page, server) => {
    await signIn(page, server);
    await page.getByRole('heading', { name: '10 agents: 8 connected, 1 silent, 1 disconnected. 1 unhealthy.' }).waitFor();
    await page.getByText('2 of 5 agents that have a configuration from here run it; 1 failed, 1 drifted, 1 applying.').waitFor();
    await page.getByText('Agent exited unexpectedly with exit code 1').waitFor();
    await page.getByText('None. All assignments').waitFor();
    await page.getByRole('link', { name: '1 drifted' }).click();
    await page.waitForURL(/config_state=drifted/);
  }],
];

const connecting = [
  ['the guide makes a token, keeps it while tabs change, and shows who arrives', async (page, server) => {
    await signedIn(page, server);
    await page.goto(`${server.url}/connect`);
    await page.getByText('live', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Make a token' }).click();
    const line = page.getByText(/^export OPAMP_TOKEN=mock_/);
    await line.waitFor();
    const text = await line.textContent();
    await page.getByRole('tab', { name: 'Just try it' }).click();
    await page.getByText('muster dev', { exact: true }).waitFor();
    await page.getByRole('tab', { name: 'Collector, as it is' }).click();
    assert.equal(await line.textContent(), text);
    await control(server, 'add', { n: 60, name: 'newcomer', fields: { connected_since: new Date().toISOString() } });
    await page.getByRole('link', { name: 'newcomer' }).waitFor();
    await scan(page, 'connect with a token and an arrival');
  }],
];

const agentPage = [
  ['an agent opens with its parts and follows live', async (page, server) => {
    await signedIn(page, server);
    await rowOf(page, 3).getByRole('link').click();
    await page.getByRole('heading', { level: 1, name: 'otelcol-node' }).waitFor();
    await page.getByText('export failed: 429 Too Many Requests').waitFor();
    await page.getByText('secrets in it are masked').waitFor();
    await page.getByText('process.pid').waitFor();
    await page.getByText('as a command').click();
    await page.getByText(`muster agents show ${uidOf(3)}`).waitFor();
    await control(server, 'set', { uid: uidOf(3), state: 'disconnected', healthy: true });
    await page.getByText(/^Disconnected; it was last healthy/).waitFor();
  }],

  ["the Collector's extension says why it cannot be configured and how it could be", async (page, server) => {
    await signedIn(page, server);
    await page.goto(`${server.url}/agents/${uidOf(2)}`);
    await page.getByText("this agent is the Collector's opamp extension: it can be seen, not configured; run it under the supervisor to configure it").waitFor();
    await page.getByText('How to run it under the supervisor').click();
    await page.getByText('opampsupervisor --config supervisor.yaml').waitFor();
    await page.getByText('It accepts no configuration; see above.').waitFor();
    await page.getByRole('link', { name: 'A token for it, and more' }).click();
    await page.getByRole('tab', { name: 'Collector, supervised' }).waitFor();
  }],

  ['forgetting is off while an agent is here, and asks for the name when it is gone', async (page, server) => {
    await signedIn(page, server);
    await page.goto(`${server.url}/agents/${uidOf(1)}`);
    assert.equal(await page.getByRole('button', { name: 'Forget this agent' }).isDisabled(), true);
    await page.goto(`${server.url}/agents/${uidOf(7)}`);
    await page.getByRole('button', { name: 'Forget this agent' }).click();
    await scan(page, 'the dialog');
    await page.getByLabel('Name of the agent').fill('report-python');
    await page.getByRole('button', { name: 'Forget report-python' }).click();
    await page.getByRole('heading', { name: /^9 agents/ }).waitFor();
    assert.equal(await rowOf(page, 7).count(), 0);
  }],

  ['an unknown agent and an unknown page say so', async (page, server) => {
    await signedIn(page, server);
    await page.goto(`${server.url}/agents/nobody`);
    await page.getByRole('heading', { name: 'There is no agent with this id.' }).waitFor();
    await page.goto(`${server.url}/somewhere`);
    await page.getByRole('heading', { name: 'There is no such page.' }).waitFor();
  }, { refusals: [404] }],
];

const keyboard = [
  ['the keyboard walks rows, opens, goes back, searches and helps', async (page, server) => {
    await signedIn(page, server);
    const order = await page.locator('tbody tr').evaluateAll((rows) => rows.map((row) => row.dataset.key));
    await page.keyboard.press('ArrowDown');
    assert.equal(await focusedRow(page), order[0]);
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowUp');
    assert.equal(await focusedRow(page), order[1]);
    await page.keyboard.press('End');
    assert.equal(await focusedRow(page), order.at(-1));
    await page.keyboard.press('Enter');
    await page.waitForURL(new RegExp(order.at(-1)));
    await page.keyboard.press('Escape');
    await page.waitForURL(`${server.url}/agents`);
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keys' }).waitFor();
    await page.keyboard.press('Escape');
    await page.locator('dialog').waitFor({ state: 'detached' });
    await page.keyboard.press('g');
    await page.keyboard.press('n');
    await page.waitForURL(/connect/);
    await page.getByRole('tab').first().waitFor();
    await page.keyboard.press('g');
    await page.keyboard.press('a');
    await page.waitForURL(`${server.url}/agents`);
    await page.keyboard.press('/');
    await page.getByLabel('Search').and(page.locator(':focus')).waitFor();
    await page.keyboard.type('g a?');
    assert.equal(await page.getByLabel('Search').inputValue(), 'g a?');
    await page.keyboard.press('Escape');
    assert.equal(await page.getByLabel('Search').inputValue(), '');
  }],

  ['the theme can be chosen and is kept', async (page, server) => {
    await signedIn(page, server);
    const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await ground();
    await page.getByRole('button', { name: 'Theme: system' }).click();
    await page.getByRole('button', { name: 'Theme: light' }).click();
    await page.getByRole('button', { name: 'Theme: dark' }).waitFor();
    const dark = await ground();
    assert.notEqual(dark, light);
    await page.reload();
    await page.getByRole('button', { name: 'Theme: dark' }).waitFor();
    assert.equal(await ground(), dark);
  }],
];

const scans = ['light', 'dark'].flatMap((theme) =>
  [1440, 360].map((width) => [`axe finds nothing in ${theme} at ${width} px, and no page is wider than the window`, async (page, server) => {
    const look = async (where) => {
      await scan(page, `${where}, ${theme}, ${width} px`);
      const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      assert.equal(over, 0, `${where} is ${over} px wider than the window`);
    };
    await page.goto(server.url);
    await page.getByLabel('User name').waitFor();
    await look('sign in');
    await signIn(page, server);
    await page.getByRole('heading', { name: 'Versions' }).waitFor();
    await look('overview');
    await page.getByRole('link', { name: 'Agents', exact: true }).click();
    await page.locator('[data-row]').first().waitFor();
    await page.keyboard.press('ArrowDown');
    await page.getByText('as a command').click();
    await look('agents');
    for (const n of [1, 2, 3, 4, 5, 6, 7, 8, 9, 11]) {
      await page.goto(`${server.url}/agents/${uidOf(n)}`);
      await page.getByRole('heading', { name: 'Identity' }).waitFor();
      await look(`agent ${n}`);
    }
    await page.goto(`${server.url}/connect`);
    for (const tab of await page.getByRole('tab').all()) {
      await tab.click();
      await look(`connect: ${await tab.textContent()}`);
    }
    await page.goto(`${server.url}/agents?selector=%3D`);
    await page.getByRole('alert').waitFor();
    await look('a bad selector');
  }, { theme, width, refusals: [400] }]));

/** Every case meets the 401 that says "nobody is signed in yet". */
const REFUSALS = [401];

export const mockCases = [['an agent is given a configuration, then a broken one, and is rolled back', story], ...configCases, ...serviceCases, ...assignmentCases, ...agentCases, ...accessCases, ...hostCases, ...using, ...live, ...overview, ...connecting, ...agentPage, ...keyboard, ...scans, ...lookCases, ...crowdCases].map(([name, body, options = {}]) => [
  name, body, { ...options, refusals: [...REFUSALS, ...(options.refusals ?? [])] },
]);
