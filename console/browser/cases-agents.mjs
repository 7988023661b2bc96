// Agents and their configurations, driven against the mock: filters, columns, views, export, labels for one and many,
// bulk assignment, and on an agent's page drift, the difference, pinning and taking over what it runs.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { signInTo } from './chromium.mjs';
import { look, rowOf, signedIn, uidOf } from './steps.mjs';

async function saved(page, button) {
  const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: button }).click()]);
  return readFile(await file.path(), 'utf8');
}

export const agentCases = [
  ['agents are filtered by where they stand, columns are chosen, and the export is what is seen', async (page, server) => {
    await signedIn(page, server);
    await page.locator('label', { hasText: 'Config' }).locator('select').selectOption('failed');
    await page.waitForURL(/config_state=failed/);
    await page.getByRole('heading', { name: '1 of 10 agents matches.' }).waitFor();
    await rowOf(page, 4).getByText('batch 2').waitFor();
    await page.getByRole('button', { name: 'Columns' }).click();
    await page.getByLabel('Reason').check();
    await page.getByLabel('Version').uncheck();
    await look(page, 'the columns');
    await page.keyboard.press('Escape');
    await page.waitForURL(/columns=state%2Cname%2Chost%2Clabels%2Chealth%2Cconfig%2Creason%2Clast_seen/);
    const csv = await saved(page, 'Export CSV');
    assert.match(csv, /^state,name,host,labels,health,config,reason,last_seen\r\nconnected,otelcol-batch,host-04[^\r]*,env=staging,healthy,failed,Agent exited unexpectedly/);
    assert.equal(csv.split('\r\n').length, 3);
    assert.equal(JSON.parse(await saved(page, 'Export JSON'))[0].labels.env, 'staging');
    await page.goto(`${server.url}/agents?config=node`);
    await page.getByRole('heading', { name: '2 of 10 agents match.' }).waitFor();
    await page.getByRole('button', { name: 'Show agents with any configuration' }).click();
    await page.getByRole('heading', { name: /^10 agents/ }).waitFor();
  }],

  ['on a small screen nothing is dropped: what has no column is told in a second line, also a column that was asked for', async (page, server) => {
    await signedIn(page, server);
    const row = rowOf(page, 4);
    const second = row.locator('xpath=following-sibling::tr[1]');
    for (const word of ['failed', 'batch 2', 'host-04.eu.example.net', '0.149.0', 'env=staging']) await second.getByText(word).waitFor();
    await page.getByRole('button', { name: 'Columns' }).click();
    await page.getByLabel('Transport').check();
    await page.keyboard.press('Escape');
    await second.getByText('Transport').waitFor();
    await second.getByText('websocket').waitFor();
    await look(page, 'agents with a second line');
    await page.setViewportSize({ width: 1600, height: 900 });
    await page.getByRole('columnheader', { name: 'Host' }).waitFor();
    assert.equal(await page.locator('tr.below').count(), 0);
  }, { width: 360, height: 740 }],

  ['a view is saved under a name, opened and deleted', async (page, server) => {
    await signInTo(page, server, '/agents?state=silent');
    await page.getByRole('heading', { name: '1 of 10 agents matches.' }).waitFor();
    await page.getByRole('button', { name: 'Saved views' }).click();
    await page.getByLabel('Save these filters and this order as').fill('Quiet ones');
    await page.getByRole('button', { name: 'Save the view' }).click();
    await page.getByRole('link', { name: 'Quiet ones' }).waitFor();
    await look(page, 'the views');
    await page.getByRole('link', { name: 'Unhealthy in production' }).click();
    await page.waitForURL(/selector=env%3Dprod&health=unhealthy/);
    await rowOf(page, 3).waitFor();
    await page.getByRole('button', { name: 'Saved views' }).click();
    await page.getByRole('button', { name: 'Delete the view Quiet ones' }).click();
    await page.getByRole('link', { name: 'Quiet ones' }).waitFor({ state: 'detached' });
  }],

  ['many agents are labelled at once, with the number before and the outcome after', async (page, server) => {
    await signedIn(page, server);
    await page.getByRole('checkbox', { name: 'Mark otelcol-gateway' }).check();
    await page.getByRole('checkbox', { name: 'Mark otelcol-batch' }).check();
    await page.getByText('2 agents marked').waitFor();
    await page.getByRole('button', { name: 'Label 2 agents' }).click();
    await page.getByLabel('Set, one key=value in a line').fill('env=prod');
    await look(page, 'labels for many');
    await page.getByRole('dialog').getByRole('button', { name: 'Label 2 agents' }).click();
    await page.getByText('1 agent labelled, 1 agent had it so already.').waitFor();
    await rowOf(page, 4).getByText('env=prod').waitFor();
    await page.getByRole('checkbox', { name: 'Mark all rows of this page' }).check();
    await page.getByRole('button', { name: 'Mark all 30 agents that match' }).waitFor({ state: 'detached' });
  }, { extra: 20 }],

  ['marked agents are assigned by a label that they are given, all that a selector matches by the selector', async (page, server) => {
    await signedIn(page, server);
    await page.getByRole('checkbox', { name: 'Mark otelcol-vm' }).check();
    await page.getByRole('checkbox', { name: 'Mark shop-node' }).check();
    await page.getByRole('button', { name: 'Assign a configuration to 2 agents' }).click();
    await page.getByLabel('Label, key=value').fill('group=canary');
    await page.getByRole('button', { name: 'Label 2 agents and go on' }).click();
    await page.waitForURL(/new-assignment\?selector=group%3Dcanary/);
    await page.getByLabel('Configuration').selectOption('node');
    await page.getByRole('button', { name: 'Assign to 2 agents' }).waitFor();
    await page.goto(`${server.url}/agents?selector=env%3Dprod`);
    await page.getByRole('checkbox', { name: 'Mark otelcol-gateway' }).check();
    await page.getByRole('button', { name: 'Mark all 2 agents that match' }).click();
    await page.getByRole('button', { name: 'Assign a configuration to 2 agents' }).click();
    await page.waitForURL(/new-assignment\?selector=env%3Dprod/);
  }],

  ['an agent shows what happened to it and who caused it, and its messages while somebody looks', async (page, server) => {
    await signInTo(page, server, `/agents/${uidOf(3)}`);
    const past = page.getByRole('region', { name: 'What happened' });
    await past.getByTitle('assignment.create').waitFor();
    await past.getByText('by websocket from').waitFor();
    await page.getByRole('button', { name: 'Edit labels' }).click();
    await page.getByLabel('One key=value in a line').fill('env=canary');
    await page.getByRole('button', { name: /^Save the labels of / }).click();
    await past.getByTitle('agent.label').waitFor();
    await page.getByText('Messages as they pass').click();
    await page.getByText('Waiting for the next message.').waitFor();
    await page.getByText('a heartbeat').waitFor();
    await page.getByText('412 bytes').click();
    await page.getByRole('region', { name: /^message from agent of/ }).getByText('"health"').waitFor();
    await look(page, 'an agent with its messages');
  }],

  ['an agent shows its drift and the difference, is labelled, let go and pinned', async (page, server) => {
    await signInTo(page, server, `/agents/${uidOf(9)}`);
    await page.getByText('It runs otherwise than node revision 1 says, in 2 places.').waitFor();
    await page.getByText('receivers.hostmetrics.collection_interval').waitFor();
    await page.getByText('Offered against effective, line by line').click();
    await page.getByRole('region', { name: 'Difference of configuration.yaml' }).waitFor();
    await look(page, 'an agent that drifted');
    await page.getByRole('button', { name: 'Edit labels' }).click();
    await page.getByLabel('One key=value in a line').fill('env=lab\nrack=7');
    await page.getByRole('button', { name: /^Save the labels of / }).click();
    await page.getByRole('link', { name: 'rack=7' }).waitFor();
    await page.getByRole('button', { name: 'Let it go' }).click();
    await page.getByRole('button', { name: 'Let edge-full go' }).click();
    await page.getByText('This server gives it no configuration.').waitFor();
    await page.getByRole('button', { name: 'Pin to a revision' }).click();
    await page.getByRole('dialog').getByLabel('Configuration').selectOption('gateway');
    await page.getByRole('button', { name: 'Pin edge-full to gateway revision 3' }).click();
    await page.getByText('gateway revision 3: runs the configuration that it was given.').waitFor();
    await page.getByRole('button', { name: 'Take over what it runs' }).click();
    await page.getByLabel('Name of the new configuration').fill('from-edge');
    await page.getByRole('button', { name: 'Make the configuration from-edge' }).click();
    await page.getByRole('heading', { level: 1, name: 'from-edge' }).waitFor();
  }],
];
