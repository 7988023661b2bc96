// Assignments, driven against the mock: whom one reaches before it is made, a rollout that moves by itself, one that
// stops at the first fault, and every way on from there.
import assert from 'node:assert/strict';
import { signInTo } from './chromium.mjs';
import { control, look, uidOf, write } from './steps.mjs';

const compose = '/new-assignment?config=node&selector=tier%3Dworker';

export const assignmentCases = [
  ['whom an assignment reaches is known before the button, which says it; then it rolls out by itself', async (page, server) => {
    await signInTo(page, server, '/assignments');
    await page.getByRole('heading', { name: '4 assignments: 1 with agents that failed.' }).waitFor();
    await page.getByRole('button', { name: 'Assign a configuration' }).click();
    await page.getByLabel('Configuration').selectOption('node');
    await page.getByText('An empty selector matches every agent.').waitFor();
    await page.getByText('assignment 1 (gateway, priority 0) comes first').waitFor();
    await page.getByText('the supervisor restarts its Collector').waitFor();
    await page.getByText('It takes the place of nothing that this server gives.').waitFor();
    const box = page.getByRole('combobox', { name: 'Agents, by selector' });
    await box.fill('ti');
    await page.getByRole('option', { name: 'tier' }).waitFor();
    await box.press('ArrowDown');
    await box.press('Enter');
    await page.getByRole('option', { name: 'tier=worker' }).click();
    assert.equal(await box.inputValue(), 'tier=worker');
    await page.getByRole('heading', { name: '20 of 20 agents that match would get node revision 2, in 10 batches of 2.' }).waitFor();
    await page.reload();
    await page.getByLabel('Batch, in percent of the agents').fill('25');
    await page.getByRole('heading', { name: 'in 4 batches of 5.' }).waitFor();
    await page.getByText('as a command').click();
    await page.getByText('muster assignments create node --selector tier=worker --batch-percent 25').waitFor();
    await page.getByRole('button', { name: 'Assign to 20 agents' }).click();
    await page.getByRole('heading', { name: /^node revision 2 is being rolled out\./ }).waitFor();
    await page.getByRole('heading', { name: 'node revision 2 is assigned. 20 of 20 agents have it.' }).waitFor();
    await page.getByTitle('assignment.create').waitFor();
  }, { extra: 20 }],

  ['the first failure pauses a rollout: its reason is shown, it resumes, and it can be rolled back', async (page, server) => {
    await control(server, 'fail', { uid: uidOf(14), error: 'cannot bind 0.0.0.0:4317: address already in use' });
    await signInTo(page, server, compose);
    await page.getByRole('button', { name: 'Assign to 20 agents' }).click();
    await page.getByText(/^Paused by itself.*: 1 agent failed\.$/).waitFor();
    await page.getByText(/^batch \d+ of 10$/).waitFor();
    await page.getByRole('heading', { name: 'Failures' }).waitFor();
    await page.getByText('cannot bind 0.0.0.0:4317: address already in use').first().waitFor();
    await look(page, 'a paused rollout');
    await page.getByRole('button', { name: /^Resume for 1\d agents/ }).click();
    await page.getByText('faults seen so far are forgiven').waitFor();
    await look(page, 'the question before resuming');
    await page.getByRole('dialog').getByRole('button', { name: /^Resume for/ }).click();
    await page.getByRole('heading', { name: 'node revision 2 is assigned. 19 of 20 agents have it, 1 failed.' }).waitFor();
    await page.getByLabel('State').selectOption('failed');
    await page.waitForURL(/state=failed/);
    await page.getByRole('button', { name: 'Roll back to revision 1' }).click();
    await page.getByText('20 agents are given revision 1, all at once').waitFor();
    await control(server, 'fail', { uid: uidOf(14) });
    await page.getByRole('button', { name: 'Roll back 20 agents' }).click();
    await page.getByRole('heading', { name: 'node revision 1 is assigned. 20 of 20 agents have it.' }).waitFor();
    await page.getByTitle('assignment.set-revision').first().waitFor();
  }, { extra: 20 }],

  ['an operator pauses with a reason, and aborts; who has it keeps it', async (page, server) => {
    await signInTo(page, server, compose);
    await page.getByRole('button', { name: 'Assign to 60 agents' }).click();
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByLabel('Reason, recorded with it').fill('waiting for the shop to close');
    await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click();
    await page.getByText(/^Paused by an operator/).waitFor();
    await page.getByText('waiting for the shop to close').first().waitFor();
    await page.getByRole('button', { name: 'Abort' }).click();
    await page.getByText('Nobody more gets revision 2.').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: /^Abort for/ }).click();
    await page.getByRole('heading', { name: /^The rollout of node revision 2 was aborted\./ }).waitFor();
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByText('Take it away: they are offered an empty configuration.').waitFor();
    await page.getByRole('button', { name: 'Delete 1 assignment' }).click();
    await page.getByRole('heading', { name: '4 assignments: 1 with agents that failed.' }).waitFor();
  }, { extra: 60 }],

  ['health that is lost pauses a rollout', async (page, server) => {
    await control(server, 'sicken', { uid: uidOf(13) });
    await signInTo(page, server, compose);
    await page.getByRole('button', { name: 'Assign to 20 agents' }).click();
    await page.getByText(/^Paused by itself.*: an agent is not healthy any more\.$/).waitFor();
    await page.getByRole('link', { name: /^worker-0013 on host-13/ }).click();
    await page.getByRole('heading', { level: 1, name: 'worker-0013' }).waitFor();
  }, { extra: 20 }],

  ['a new revision is rolled out from its configuration, and a change is refused when somebody else was first', async (page, server) => {
    await signInTo(page, server, '/configs/gateway/edit');
    await page.getByText('Nothing is changed yet.').waitFor();
    await write(page, 'receivers:\n  otlp:\n');
    await page.getByText('The server finds nothing wrong.').waitFor();
    await page.getByRole('button', { name: 'Save as revision 4' }).click();
    await page.getByRole('link', { name: 'Roll out revision 4 there' }).click();
    await page.getByRole('dialog', { name: 'Roll out another revision?' }).waitFor();
    await page.getByRole('button', { name: 'Roll out to 1 agent' }).click();
    await page.getByRole('heading', { name: 'gateway revision 4 is assigned. 1 of 1 agent has it.' }).waitFor();
    await page.getByRole('button', { name: 'Change' }).click();
    await page.getByLabel('Priority').fill('5');
    await fetch(`${server.url}/mock/touch`, { method: 'POST', body: JSON.stringify({ id: '1' }) });
    await page.getByRole('button', { name: 'Save 1 assignment' }).click();
    await page.getByText('It was not done: somebody else changed it meanwhile').waitFor();
  }, { refusals: [412] }],

  ['a selector that cannot be read is told at its box', async (page, server) => {
    await signInTo(page, server, '/new-assignment?config=node&selector=a%20b%20c');
    await page.getByText('It cannot be read: column 3: expected =, ==, !=, in, notin or a comma, found "b".').waitFor();
    await page.getByRole('button', { name: 'Assign' }).and(page.locator(':disabled')).waitFor();
  }, { refusals: [400] }],
];
