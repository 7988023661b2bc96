// Configurations, driven against the mock: read, write with problems in place, a draft that survives, two people who
// save at once, files, roles.
import { signInTo } from './chromium.mjs';
import { control, look, write } from './steps.mjs';

const BASE = 'receivers:\n  otlp:\nexporters:\n  debug:\nservice:\n  pipelines:\n    traces:\n      receivers: [otlp]\n      exporters: [debug]\n';

export const configCases = [
  ['the list leads to a configuration, its history and what a revision changed', async (page, server) => {
    await signInTo(page, server, '/configs');
    await page.getByRole('heading', { name: '4 configurations.' }).waitFor();
    await page.getByRole('link', { name: 'gateway' }).click();
    await page.getByText('Revision 3 is the latest, saved by operator 20 h ago. 1 agent is given this configuration by 1 assignment.').waitFor();
    await page.getByText('1 in sync').waitFor();
    await page.getByRole('link', { name: 'revision 2' }).click();
    await page.getByRole('heading', { name: 'gateway revision 2' }).waitFor();
    await page.getByText('limit_mib: 512 → 1024').waitFor();
    await page.getByText('limit_mib: 1024').first().waitFor();
    await page.getByLabel('Compare with').selectOption('3');
    await page.getByText('exporter debug removed').waitFor();
  }],

  ['what is wrong is shown at its place while it is written, and a draft survives a reload', async (page, server) => {
    await signInTo(page, server, '/configs/gateway/edit');
    await page.getByRole('heading', { name: 'You write revision 4 of gateway' }).waitFor();
    await page.getByText('Nothing is changed yet.').waitFor();
    await write(page, 'receivers:\n  otlp: [1\nexporters:\n');
    await page.getByText(/1 error\. A revision with errors cannot be saved/).waitFor();
    await page.locator('.problem.error').first().waitFor();
    await page.getByRole('button', { name: 'Save as revision 4' }).and(page.locator(':disabled')).waitFor();
    await page.getByLabel('What changes, and why').fill('half done');
    await page.getByText(/Draft kept in this browser/).waitFor();
    await page.reload();
    await page.getByText(/Your draft from .* was kept in this browser and goes on here/).waitFor();
    await page.getByText('otlp: [1').first().waitFor();
    await page.getByRole('button', { name: /^error collector.yaml:3/ }).click();
    await write(page, BASE.replace('exporters: [debug]', 'exporters: [debug, elsewhere]'));
    await page.getByText('1 warning. It can be saved all the same.').waitFor();
    await page.getByText('pipeline "traces" uses the exporter "elsewhere", which is not defined').first().waitFor();
    await write(page, BASE);
    await page.getByText('The server finds nothing wrong.').waitFor();
    await page.getByRole('button', { name: 'Show what changes' }).click();
    await page.getByText('exporter otlphttp/backend removed').waitFor();
    await page.getByText('1 pipeline is removed').waitFor();
    await page.getByRole('button', { name: 'Save as revision 4' }).click();
    await page.getByText('Revision 4 is the latest, saved by admin').waitFor();
    await page.getByText('half done').waitFor();
    await page.getByRole('link', { name: 'Roll out revision 4 there' }).waitFor();
  }],

  ['two people save at once: both versions are shown and nothing is lost', async (page, server) => {
    await signInTo(page, server, '/configs/node/edit');
    await page.getByText('Nothing is changed yet.').waitFor();
    await write(page, BASE);
    await page.getByText('The server finds nothing wrong.').waitFor();
    await control(server, 'revise', { name: 'node', message: 'Quick repair', files: [{ name: 'collector.yaml', body: `${BASE}extensions:\n  zpages:\n` }] });
    await page.getByRole('heading', { name: 'Revision 3 was saved by operator while you wrote yours, which began with revision 2.' }).waitFor();
    await page.getByText('Quick repair').waitFor();
    await page.getByText('extension zpages added').waitFor();
    await page.getByText('extension zpages removed').waitFor();
    await look(page, 'a lost update');
    await page.getByRole('button', { name: 'Go on with my draft, as revision 4' }).click();
    await page.getByRole('button', { name: 'Save as revision 4' }).click();
    await page.getByText('Revision 4 is the latest, saved by admin').waitFor();
    await page.getByText('Quick repair').waitFor();
  }, { refusals: [409] }],

  ['the same files are no new revision', async (page, server) => {
    await signInTo(page, server, '/configs/gateway/edit?from=1');
    await page.getByText(/Draft kept in this browser/).waitFor();
    await page.getByRole('button', { name: 'Save as revision 4' }).click();
    await page.getByText('Revision 4 is the latest, saved by admin').waitFor();
    await page.getByText('Back to revision 1').waitFor();
  }],

  ['a new configuration with two files is written, saved, described and deleted', async (page, server) => {
    await signInTo(page, server, '/configs');
    await page.keyboard.press('g');
    await page.keyboard.press('c');
    await page.getByRole('button', { name: 'New configuration' }).click();
    await page.getByText('It needs a name.').waitFor();
    await page.getByLabel('Name', { exact: true }).fill('web');
    await write(page, BASE);
    await page.getByRole('button', { name: 'Add a file' }).click();
    await page.getByLabel('File name').fill('notes.txt');
    await write(page, 'remember\n');
    await page.getByRole('button', { name: 'collector.yaml' }).click();
    await page.getByText('receivers:', { exact: true }).first().waitFor();
    await page.getByText('The server finds nothing wrong.').waitFor();
    // Keys that mean something elsewhere are letters here, and Esc does not lead away.
    await page.getByRole('textbox', { name: 'Text of the file' }).press('Escape');
    await page.getByRole('button', { name: 'Save as revision 1' }).click();
    await page.getByText('No agent is given it: assign it to some.').waitFor();
    await page.getByText('remember').waitFor();
    await page.getByRole('button', { name: 'Describe' }).click();
    await page.getByLabel('What it is for').fill('The shop');
    await page.getByRole('button', { name: 'Save the description of web' }).click();
    await page.getByText('The shop').waitFor();
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await look(page, 'the question before deleting');
    await page.getByLabel('Type web to go on').fill('web');
    await page.getByRole('button', { name: 'Delete web' }).click();
    await page.getByRole('heading', { name: '4 configurations.' }).waitFor();
  }],

  ['a viewer reads configurations and is told why nothing can be changed', async (page, server) => {
    await signInTo(page, { ...server, user: 'viewer', password: 'viewer' }, '/configs/gateway');
    await page.getByText('This needs the role operator; you are signed in as viewer.').waitFor();
    await page.getByRole('button', { name: 'Edit' }).and(page.locator(':disabled')).waitFor();
  }],
];
