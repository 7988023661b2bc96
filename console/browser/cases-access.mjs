// People, programs and what they did, driven against the mock: users, tokens, the own password, the activity, roles.
import assert from 'node:assert/strict';
import { signInTo } from './chromium.mjs';
import { look } from './steps.mjs';

export const accessCases = [
  ['a user is added, changed and deleted, and the last admin stays', async (page, server) => {
    await signInTo(page, server, '/settings');
    await page.getByRole('heading', { name: 'You are signed in as admin, role admin' }).waitFor();
    await page.getByLabel('Name', { exact: true }).fill('olga');
    await page.getByRole('button', { name: 'Add a user' }).click();
    await page.getByText('The password of olga').waitFor();
    await look(page, 'settings with a password just made');
    await page.getByRole('button', { name: 'I have it' }).click();
    await page.getByLabel('Role of olga').selectOption('operator');
    await page.getByLabel('Role of admin').selectOption('viewer');
    await page.getByText('It was not done: the last admin').waitFor();
    await page.getByRole('row', { name: /olga/ }).getByRole('button', { name: 'Delete' }).click();
    await page.getByLabel('Type olga to go on').fill('olga');
    await page.getByRole('button', { name: 'Delete 1 user' }).click();
    await page.getByRole('row', { name: /olga/ }).waitFor({ state: 'detached' });
    await page.goto(`${server.url}/activity?object=user`);
    await page.getByTitle('user.delete').waitFor();
    await page.getByText('3 things were done that match.').waitFor();
  }, { refusals: [409] }],

  ['an API token is made, shown once, and revoked; the own password is changed', async (page, server) => {
    await signInTo(page, { ...server, user: 'operator', password: 'operator' }, '/settings');
    await page.getByText('Ask an admin to add or change users.').waitFor();
    await page.getByLabel('Label').fill('ci');
    await page.getByRole('button', { name: 'Make a token' }).click();
    await page.getByText(/^muster_api_/).waitFor();
    await page.getByRole('button', { name: 'I have it' }).click();
    assert.equal(await page.getByText(/^muster_api_/).count(), 0);
    await page.getByRole('button', { name: 'Revoke ci' }).click();
    await page.getByRole('button', { name: 'Revoke 1 token' }).click();
    await page.getByRole('cell', { name: 'revoked' }).waitFor();
    await page.getByLabel('Current password').fill('operator');
    await page.getByLabel('New password', { exact: true }).fill('correct horse battery');
    await page.getByLabel('New password again').fill('correct horse battery');
    await page.getByRole('button', { name: 'Change my password' }).click();
    await page.getByText('Your password is changed.').waitFor();
  }],

  ['the activity is filtered in the address, shows before and after, and is exported by admins', async (page, server) => {
    await signInTo(page, server, '/activity');
    await page.getByRole('heading', { name: /things were done\.$/ }).waitFor();
    await page.getByLabel('Who').fill('operator');
    await page.getByLabel('Who').press('Enter');
    await page.waitForURL(/actor=operator/);
    await page.getByLabel('What', { exact: true }).fill('config');
    await page.getByLabel('What', { exact: true }).press('Enter');
    await page.getByText('Give the gateway more memory').waitFor();
    await page.getByText('as a command').click();
    await page.getByText('muster audit --actor operator --action config').waitFor();
    const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'Export NDJSON' }).click()]);
    assert.equal(file.suggestedFilename(), 'audit.ndjson');
    await page.getByRole('link', { name: 'configuration gateway' }).first().click();
    await page.getByRole('heading', { level: 1, name: 'gateway' }).waitFor();
  }],
];
