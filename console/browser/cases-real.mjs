// What is checked against a real server: it must be up, with at least one connected agent.
import assert from 'node:assert/strict';
import { scan } from './axe.mjs';
import { signIn, signInTo } from './chromium.mjs';
import { story } from './story.mjs';

export const realCases = [
  ['an agent is given a configuration, then a broken one, and is rolled back', story, { refusals: [401] }],

  ['signing in shows a connected agent, which opens', async (page, server) => {
    await signIn(page, server);
    await page.getByText('live', { exact: true }).waitFor();
    await page.goto(`${server.url}/agents?state=connected`);
    const row = page.locator('tbody tr', { hasText: 'connected' }).first();
    await row.waitFor();
    const uid = await row.getAttribute('data-key');
    await scan(page, 'the agents');
    await row.getByRole('link').click();
    await page.getByRole('heading', { name: 'Identity' }).waitFor();
    assert.ok(page.url().endsWith(`/agents/${uid}`));
    await page.getByText(uid, { exact: true }).first().waitFor();
    await page.getByRole('heading', { name: 'What it can do' }).waitFor();
    await scan(page, 'the agent');
  }, { refusals: [401] }],

  ['the address of a list and of an agent can be loaded anew, and an unknown agent is told', async (page, server) => {
    await signIn(page, server);
    await page.goto(`${server.url}/agents?q=no-such-agent-anywhere`);
    await page.getByText('No agent matches.').waitFor();
    await page.goto(`${server.url}/agents/00000000-0000-7000-8000-000000000000`);
    await page.getByText('There is no agent with this id.').waitFor();
    await page.goto(`${server.url}/connect`);
    await page.getByRole('tab').first().waitFor();
    await scan(page, 'connect');
  }, { refusals: [401, 404] }],

  ['a bad selector is told at its box', async (page, server) => {
    await signInTo(page, server, '/agents');
    await page.getByRole('combobox', { name: 'Selector' }).fill('a in (');
    await page.getByRole('combobox', { name: 'Selector' }).press('Enter');
    await page.getByText('The selector cannot be read').waitFor();
  }, { refusals: [400, 401] }],

  ['a wrong password is refused and signing out ends the session', async (page, server) => {
    await page.goto(server.url);
    await page.getByLabel('User name').fill('nobody');
    await page.getByLabel('Password').fill('not the password');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('The name or the password is wrong.').waitFor();
    await signIn(page, server);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByText('You are signed out.').waitFor();
    await page.goto(`${server.url}/agents`);
    await page.getByLabel('User name').waitFor();
  }, { refusals: [401] }],
];
