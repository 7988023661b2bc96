// What people do beside configurations, on a real server with a connected agent: labels, saved views, users and roles,
// API tokens, enrolment tokens, the activity. Every name is of this run, and what was made is taken away again.
import assert from 'node:assert/strict';
import { signInTo } from './chromium.mjs';
import { look, open } from './steps.mjs';

const stamp = () => Date.now().toString(36);
const REFUSALS = { refusals: [401] };

/** The first connected agent, as the list shows it. */
async function anyAgent(page) {
  await open(page, '/agents?state=connected');
  const row = page.locator('tbody tr').first();
  await row.waitFor();
  return { row, uid: await row.getAttribute('data-key') };
}

async function labels(page, server) {
  const label = `trial=${stamp()}`;
  await signInTo(page, server, '/agents');
  const { row, uid } = await anyAgent(page);
  await row.getByRole('checkbox').check();
  await page.getByRole('button', { name: 'Label 1 agent' }).click();
  await page.getByLabel('Set, one key=value in a line').fill(label);
  await page.getByRole('dialog').getByRole('button', { name: 'Label 1 agent' }).click();
  await page.getByText('1 agent labelled').waitFor();
  await open(page, `/agents?selector=${encodeURIComponent(label)}`);
  await page.getByRole('heading', { name: /^1 of \d+ agents? match/ }).waitFor();
  await page.locator(`tr[data-key="${uid}"]`).getByText(label).waitFor();
  await page.locator(`tr[data-key="${uid}"]`).getByRole('link').click();
  await page.getByRole('link', { name: label }).waitFor();
  await page.getByRole('button', { name: 'Edit labels' }).click();
  await page.getByLabel('One key=value in a line').fill('');
  await page.getByRole('button', { name: /^Save the labels of / }).click();
  await page.getByText('No labels.').waitFor();
  await open(page, `/activity?action=label&object=${encodeURIComponent(`agent/${uid}`)}`);
  await page.getByTitle('label.change').first().waitFor();
}

async function savedViews(page, server) {
  const name = `Healthy ones ${stamp()}`;
  await signInTo(page, server, '/agents?health=healthy');
  await page.getByRole('button', { name: 'Saved views' }).click();
  await page.getByLabel('Save these filters and this order as').fill(name);
  await page.getByRole('button', { name: 'Save the view' }).click();
  await page.getByRole('link', { name }).waitFor();
  await look(page, 'the views');
  await page.keyboard.press('Escape');
  await open(page, '/agents');
  await page.getByRole('button', { name: 'Saved views' }).click();
  await page.getByRole('link', { name }).click();
  await page.waitForURL(/health=healthy/);
  await page.getByRole('button', { name: 'Saved views' }).click();
  await page.getByRole('button', { name: `Delete the view ${name}` }).click();
  await page.getByRole('link', { name }).waitFor({ state: 'detached' });
}

/** Makes a user and gives the name and the password that is shown once. */
async function madeUser(page, role) {
  const user = `olga-${stamp()}`;
  const row = page.getByRole('row', { name: new RegExp(user) });
  await page.getByLabel('Name', { exact: true }).fill(user);
  await page.locator('form', { has: page.getByRole('button', { name: 'Add a user' }) }).getByLabel('Role').selectOption(role);
  await page.getByRole('button', { name: 'Add a user' }).click();
  await page.getByText(`The password of ${user}`).waitFor();
  const password = (await page.getByRole('region', { name: 'password', exact: true }).textContent()).trim();
  await row.waitFor();
  return { user, password, row };
}

async function users(page, server) {
  await signInTo(page, server, '/settings');
  await page.getByRole('heading', { name: /^You are signed in as .*, role admin$/ }).waitFor();
  const { user, password, row } = await madeUser(page, 'viewer');
  await look(page, 'the settings with a password just made');
  // In a browser of their own, with what they were told.
  const other = await page.context().browser().newContext({ ignoreHTTPSErrors: true });
  const theirs = await other.newPage();
  theirs.setDefaultTimeout(Number(process.env.BROWSER_TIMEOUT_MS ?? 15_000));
  await signInTo(theirs, { url: server.url, user, password }, '/new-config');
  await theirs.getByText(`This needs the role operator; you are signed in as viewer.`).first().waitFor();
  await page.getByRole('button', { name: 'I have it' }).click();
  // The next page ends what this one has not been answered yet.
  await Promise.all([
    page.waitForResponse((answer) => answer.request().method() === 'PATCH' && answer.ok()),
    page.getByLabel(`Role of ${user}`).selectOption('operator'),
  ]);
  await open(page, `/activity?object=${encodeURIComponent(`user/${user}`)}`);
  for (const action of ['user.create', 'user.change']) await page.getByTitle(action).first().waitFor();
  await look(page, 'the activity of one user');
  await open(page, '/settings');
  await row.getByRole('button', { name: 'Delete' }).click();
  await page.getByLabel(`Type ${user} to go on`).fill(user);
  await page.getByRole('button', { name: 'Delete 1 user' }).click();
  await row.waitFor({ state: 'detached' });
  await theirs.reload();
  await theirs.getByLabel('User name').waitFor();
  await other.close();
}

async function apiTokens(page, server) {
  const label = `ci-${stamp()}`;
  await signInTo(page, server, '/settings');
  const form = page.locator('form', { has: page.getByRole('button', { name: 'Make a token' }) });
  await form.getByLabel('Label').fill(label);
  await form.getByLabel('Role').selectOption('viewer');
  await form.getByRole('button', { name: 'Make a token' }).click();
  const token = (await page.getByText(/^muster_api_/).textContent()).trim();
  await page.getByRole('button', { name: 'I have it' }).click();
  const ask = () => page.evaluate(async (bearer) => (await fetch('/api/v1/overview', { credentials: 'omit', headers: { authorization: `Bearer ${bearer}` } })).status, token);
  assert.equal(await ask(), 200);
  await page.getByRole('button', { name: `Revoke ${label}` }).click();
  await page.getByRole('button', { name: 'Revoke 1 token' }).click();
  await page.getByRole('row', { name: new RegExp(label) }).getByText('revoked').waitFor();
  assert.equal(await ask(), 401);
}

async function enrolmentTokens(page, server) {
  const label = `edge-${stamp()}`;
  await signInTo(page, server, '/connect');
  await page.getByLabel('Label').fill(label);
  await page.getByRole('button', { name: 'Make a token' }).click();
  await page.getByText(/^export OPAMP_TOKEN=/).waitFor();
  await open(page, '/settings');
  const row = page.getByRole('row', { name: new RegExp(label) });
  await row.getByText('enrols new agents').waitFor();
  await look(page, 'the enrolment tokens');
  await page.getByRole('button', { name: `Revoke the enrolment token ${label}` }).click();
  await page.getByRole('button', { name: 'Revoke 1 token and disconnect 0 agents' }).click();
  await row.getByText('revoked').waitFor();
}

async function activity(page, server) {
  await signInTo(page, server, '/activity');
  await page.getByRole('heading', { name: /things? (was|were) done\.$/ }).waitFor();
  await page.getByLabel('What', { exact: true }).fill('session');
  await page.getByLabel('What', { exact: true }).press('Enter');
  await page.waitForURL(/action=session/);
  await page.getByTitle('session.begin').first().waitFor();
  await page.getByText('as a command').click();
  await page.getByText('muster audit --action session').waitFor();
  const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'Export CSV' }).click()]);
  assert.equal(file.suggestedFilename(), 'audit.csv');
  await look(page, 'the activity');
}

export const realPeopleCases = [
  ['agents are labelled, found by the label, and unlabelled', labels, REFUSALS],
  ['a view is saved, opened and deleted', savedViews, REFUSALS],
  ['a user is made, signs in as a viewer, is changed and deleted', users, REFUSALS],
  ['an API token opens the API until it is revoked', apiTokens, REFUSALS],
  ['an enrolment token is made, listed and revoked', enrolmentTokens, REFUSALS],
  ['the activity is filtered and exported', activity, REFUSALS],
];
