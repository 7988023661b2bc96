// Hosts on the real binary: a machine joins with what the console made, while the console looks on; the console and the
// command line show and change the same. The machine is a request as an agent sends it, and no more.
import assert from 'node:assert/strict';
import { signInTo } from './chromium.mjs';
import { cli } from './dev-server.mjs';
import { look, open } from './steps.mjs';

/** Asks as `muster agent join` does; no agent connects after it. */
async function join(server, token, machineId) {
  const request = {
    join_token: token, machine_id: machineId, instance_id: `instance-${machineId}`, wg_public_key: 'mPGZ0cpRH1zMtkTUJZm6JYoOEDiOQdzuV0HcVJ9x8Xs=',
    facts: { hostname: 'machine', kernel: '6.12.48', arch: 'x86_64', os_release: 'Debian GNU/Linux 13 (trixie)', cpu_count: 4, memory_bytes: 8 * 2 ** 30, disk: [{ mount: '/', total_bytes: 2 ** 36, free_bytes: 2 ** 35, fs: 'ext4' }] },
  };
  const answer = await fetch(`${server.url}/api/agent/v1/join`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(request) });
  assert.equal(answer.status, 201, await answer.text());
}

async function hostStory(page, server) {
  const name = `host-${Date.now().toString(36)}`;
  await signInTo(page, server, '/hosts');
  await page.getByRole('heading', { name: 'No machine is a host yet.' }).waitFor();
  await look(page, 'the real list without a host');
  await open(page, '/hosts/add');
  await page.getByLabel('Name').fill(name);
  await page.getByRole('button', { name: 'Make the command' }).click();
  const command = await page.getByRole('region', { name: 'command for the machine' }).innerText();
  const [token] = /mst_join_[0-9a-f]{64}/.exec(command) ?? [];
  await page.getByText('Waiting for the machine.').waitFor();
  await join(server, token, `machine-${name}`);
  // The page was never touched: it follows by itself.
  await page.getByText(`joined as ${name}`).waitFor();
  await look(page, 'a real machine that joined');
  await page.getByRole('row', { name: /used/ }).getByRole('link', { name }).click();

  await page.getByRole('heading', { level: 1, name }).waitFor();
  await page.getByText('no replica is meant to run there').waitFor();
  await page.getByText('Debian GNU/Linux 13 (trixie)').waitFor();
  await page.getByText('32.0 GiB of 64.0 GiB free').waitFor();
  await page.getByText('This host has said nothing.').waitFor();
  await cli(server, ['hosts', 'set', name, '--cordon']);
  await page.getByRole('button', { name: 'Uncordon' }).waitFor();
  await page.getByRole('button', { name: 'Edit labels' }).click();
  await page.getByLabel('One key=value in a line').fill('zone=a');
  await page.getByRole('button', { name: `Save the labels of ${name}` }).click();
  await page.getByRole('link', { name: 'zone=a' }).waitFor();
  await page.getByTitle('host.change').first().waitFor();
  const [host] = JSON.parse(await cli(server, ['hosts', 'list', '-o', 'json'])).items;
  assert.deepEqual([host.name, host.mode, host.labels], [name, 'cordoned', { zone: 'a' }]);
  await look(page, 'a real host');

  await page.getByRole('button', { name: 'Remove this host' }).click();
  await page.getByLabel(`Type ${name} to go on`).fill(name);
  await page.getByRole('button', { name: `Remove ${name}` }).click();
  await page.getByRole('heading', { name: 'No machine is a host yet.' }).waitFor();
  assert.match(await cli(server, ['hosts', 'list']), /There is no host\./);
}

async function takenBack(page, server) {
  await signInTo(page, server, '/hosts/add');
  await page.getByLabel('Name').fill('taken-back');
  await page.getByRole('button', { name: 'Make the command' }).click();
  const row = page.getByRole('row', { name: /taken-back/ });
  await row.getByRole('button', { name: /^Revoke join token/ }).click();
  await page.getByRole('button', { name: 'Revoke 1 token' }).click();
  await row.getByText('revoked').waitFor();
  assert.match(await cli(server, ['hosts', 'tokens', 'list']), /revoked +taken-back/);
}

export const demoHostCases = [
  ['a machine joins with what the console made, and console and command line say the same of it', hostStory, { refusals: [401] }],
  ['a join token that the console took back is revoked on the command line too', takenBack, { refusals: [401] }],
];
