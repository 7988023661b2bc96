// Services, driven against the mock: look, deploy a file from nothing to done, one that fails and goes back, scale, roll
// back, remove, follow and search logs, secrets, registries, roles.
import assert from 'node:assert/strict';
import { signInTo } from './chromium.mjs';
import { control, look, open, write } from './steps.mjs';

const FILE = 'services:\n  site:\n    image: nginx:${TAG}\n    deploy: {replicas: 2}\n  api:\n    image: registry.example:5000/blog/api:3\n    secrets: [db]\nsecrets:\n  db: {external: true}\n';
const lines = (page) => page.getByRole('log').locator('.line');

export const serviceCases = [
  ['the list says which services are not as they should be, and leads to one and to what it printed last', async (page, server) => {
    await signInTo(page, server, '/');
    await page.keyboard.press('g');
    await page.keyboard.press('s');
    await page.getByRole('heading', { name: '2 of 4 services run as they should; meter/reader is stranded, shop/web is degraded.' }).waitFor();
    await page.getByText('edge-7 is not connected: 1 replica there is shown as it was last.').waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('worker');
    await page.waitForURL(/q=worker/);
    assert.equal(await page.locator('tbody tr').count(), 1);
    await page.keyboard.press('Escape');
    await page.getByRole('link', { name: 'web', exact: true }).click();
    await page.getByRole('heading', { name: 'shop/web is degraded, 2 of 3 replicas ready.' }).waitFor();
    await page.getByText('port 8080/tcp is taken there by nginx (pid 811)').first().waitFor();
    await page.getByText('still could not bind()').waitFor();
    await page.getByText('environment: + LOG_LEVEL').waitFor();
    await page.getByText('never served').waitFor();
    await look(page, 'a service');
    // A host that goes away takes what ran there out of what is ready, and nobody touched the page.
    await control(server, 'host-set', { host: 'eu-2', state: 'offline' });
    await page.getByRole('heading', { name: 'shop/web is degraded, 1 of 3 replicas ready.' }).waitFor();
    await page.getByRole('row', { name: /^web-2 stranded eu-2 offline/ }).waitFor();
    await open(page, '/services/meter/reader');
    await page.getByRole('heading', { name: 'meter/reader is stranded: host edge-7 is offline.' }).waitFor();
    await look(page, 'a service that is stranded');
  }],

  ['without services the page teaches the first one', async (page, server) => {
    await signInTo(page, server, '/services');
    await page.getByRole('heading', { name: /services run as they should/ }).waitFor();
    await control(server, 'no-services');
    await page.getByRole('heading', { name: 'There is no service yet.' }).waitFor();
    await page.getByText('muster deploy', { exact: true }).last().waitFor();
    await look(page, 'services, none');
    await page.getByRole('link', { name: 'deploy it from here' }).click();
    await page.getByRole('button', { name: 'Begin with an example' }).click();
    await page.getByRole('heading', { name: 'Deploy 1 service to 2 hosts: nothing has happened yet' }).waitFor();
    await page.getByRole('button', { name: 'Deploy 1 service to 2 hosts' }).click();
    await page.getByRole('heading', { name: 'Deployment 1 of shop is done: 1 service as it said.' }).waitFor();
  }],

  ['a file is deployed: what it lacks is given in place, the plan stands above the button, progress is live', async (page, server) => {
    await signInTo(page, server, '/deploy');
    await page.getByText('There is no Compose file yet.').waitFor();
    await write(page, FILE);
    await page.getByText('It needs the name of a project: above, or as name: in the file.').waitFor();
    await page.getByLabel('Project').fill('blog');
    await page.getByText('the variable TAG is not set and becomes empty').first().waitFor();
    await page.getByText('services.site.image: "" is no tag').first().waitFor();
    await page.getByText('Give the variable TAG a value first.').waitFor();
    await page.getByLabel(/^TAG/).fill('1.29');
    await page.getByText('the secret db is not set: muster secrets set blog/db sets it').waitFor();
    await page.getByText('Set the secret db first.').waitFor();
    await page.getByText('The server finds nothing wrong.').waitFor();
    await page.getByLabel(/^The secret db of blog/).fill('hush');
    await page.getByRole('button', { name: 'Set 1 secret' }).click();
    await page.getByText('site new').waitFor();
    await page.getByText('2 replicas, starts, on eu-1, eu-2').waitFor();
    await look(page, 'a plan');
    await page.getByLabel('Why, shown in the history').fill('the blog');
    await page.getByRole('button', { name: 'Deploy 2 services to 2 hosts' }).click();
    await page.getByRole('heading', { name: /^Deployment \d+ of blog is done: 2 services as it said\.$/ }).waitFor();
    await page.getByText('the blog', { exact: true }).waitFor();
    await page.getByRole('link', { name: 'blog', exact: true }).first().click();
    await page.getByRole('heading', { name: 'Project blog: all 2 services run as they should.' }).waitFor();
    await page.getByText('version 1, 4 bytes').waitFor();
  }, { refusals: [422] }],

  ['errors stand at their place and keep it from being deployed; a draft survives a reload', async (page, server) => {
    await signInTo(page, server, '/deploy?project=shop');
    await write(page, 'services:\n  web:\n    image: nginx:1.30\n    privileged: true\n');
    await page.getByText('1 error. It cannot be deployed with errors.').waitFor();
    await page.locator('.problem.error').getByText('would give the container the host').waitFor();
    await page.getByRole('button', { name: /^Deploy/ }).and(page.locator(':disabled')).waitFor();
    await page.getByRole('button', { name: /^error compose.yaml:4/ }).click();
    await page.reload();
    await page.getByText('privileged').first().waitFor();
    await write(page, 'services:\n  web:\n    image: nginx:1.29\n    env_file: ./web.env\n');
    await page.getByLabel(/web\.env.*not given/).setInputFiles({ name: 'web.env', mimeType: 'text/plain', buffer: Buffer.from('A=1\n') });
    await page.getByText('4 bytes').waitFor();
    await page.getByText('The server finds nothing wrong.').waitFor();
  }, { refusals: [422] }],

  ['what a file does not name any more is removed only after a question', async (page, server) => {
    await signInTo(page, server, '/deploy?project=shop');
    await write(page, 'services:\n  web:\n    image: nginx:1.30\n    deploy: {replicas: 3}\n  db:\n    image: postgres:18\n');
    await page.getByText('image nginx:1.29 → nginx:1.30').waitFor();
    await page.getByRole('button', { name: 'Deploy 1 service to 2 hosts, remove 1' }).click();
    await page.getByText('The file does not name worker any more: 2 replicas of it will be stopped and removed. Volumes stay.').waitFor();
    await look(page, 'the question before removing');
    await page.getByRole('dialog').getByRole('button', { name: 'Deploy 1 service to 2 hosts, remove 1' }).click();
    await page.getByRole('heading', { name: 'Deployment 6 of shop is done: 2 services as it said.' }).waitFor();
    await page.getByText('release 2 → removed').waitFor();
  }],

  ['a deployment that fails goes back and says why in the words of the engine', async (page, server) => {
    await signInTo(page, server, '/deploy?project=meter');
    await write(page, 'services:\n  reader:\n    image: registry.example:5000/meter/no-such:1\n');
    await page.getByRole('button', { name: 'Deploy 1 service to 1 host' }).click();
    await page.getByRole('heading', { name: 'Deployment 6 of meter failed and was rolled back: the services run what they ran before.' }).waitFor();
    await page.getByText('pull access denied for registry.example:5000/meter/no-such:1').first().waitFor();
    await page.getByRole('link', { name: 'reader', exact: true }).click();
    await page.getByRole('link', { name: 'See deployment 6' }).waitFor();
  }],

  ['a deployment under way is watched and aborted', async (page, server) => {
    await signInTo(page, server, '/services/shop/worker');
    await page.getByRole('heading', { name: 'shop/worker runs as it should, with 2 replicas.' }).waitFor();
    await page.getByRole('button', { name: 'Scale' }).click();
    await page.getByRole('spinbutton', { name: 'Replicas' }).fill('400');
    await page.getByText('398 replicas are started').waitFor();
    await page.getByRole('button', { name: 'Scale to 400 replicas' }).click();
    await page.getByText('waits for').waitFor();
    await page.getByRole('button', { name: 'Abort' }).click();
    await page.getByText('worker: release 2 → 3, back to release 2').waitFor();
    await page.getByRole('button', { name: 'Abort, 1 service goes back' }).click();
    await page.getByText('aborted by admin').first().waitFor();
    await page.getByRole('heading', { name: /^Deployment 6 of shop failed and was rolled back/ }).waitFor();
    await open(page, '/deployments?project=shop');
    await page.getByRole('heading', { name: '5 deployments of shop: none under way, 2 rolled back.' }).waitFor();
  }],

  ['back to an older release, and a service away by its name', async (page, server) => {
    await signInTo(page, server, '/services/shop/web');
    await page.getByRole('button', { name: 'Roll back to release 2' }).click();
    await page.getByText('image nginx:1.28 → nginx:1.29').last().waitFor();
    await page.getByLabel('Reason, recorded with it').fill('TLS is broken');
    await page.getByRole('button', { name: 'Roll 1 service back to release 2' }).click();
    await page.getByRole('heading', { name: 'Deployment 6 of shop is done: 1 service as it said.' }).waitFor();
    await page.getByText('TLS is broken').waitFor();
    await open(page, '/services/shop/web');
    await page.getByRole('heading', { name: 'shop/web runs as it should, with 3 replicas.' }).waitFor();
    await page.getByRole('button', { name: 'Remove', exact: true }).click();
    await page.getByLabel('Type shop/web to go on').fill('shop/web');
    await page.getByRole('button', { name: 'Remove 1 service' }).click();
    await page.getByRole('heading', { name: 'Deployment 7 of shop is done: 1 service as it said.' }).waitFor();
  }],

  ['logs are followed, searched, paused and heal', async (page, server) => {
    await signInTo(page, server, '/services/shop/web');
    await page.getByRole('link', { name: 'Logs' }).click();
    await page.getByRole('heading', { name: 'What the replicas of shop/web print.' }).waitFor();
    await page.getByText('following', { exact: true }).waitFor();
    await control(server, 'print', { project: 'shop', service: 'web', number: 2, text: `<img src=x onerror="document.title='owned'">\u202e end`, stream: 'err' });
    await page.getByText('\\u202e end').waitFor();
    assert.equal(await page.getByRole('log').locator('img').count(), 0);
    assert.match(await lines(page).last().textContent(), /^web-2 err </);
    await page.getByRole('button', { name: 'Pause' }).click();
    await control(server, 'print', { project: 'shop', service: 'web', number: 1, text: 'while paused', times: 3 });
    await page.getByRole('heading', { name: 'Lines of shop/web, paused: 3 new lines since.' }).waitFor();
    assert.equal(await page.getByText('while paused').count(), 0);
    await page.getByRole('button', { name: 'Go on with 3 new lines' }).click();
    await page.getByText('while paused 2').waitFor();
    await page.getByLabel('web-1').uncheck();
    await page.waitForURL(/replicas=/);
    await page.getByText('while paused 2').waitFor({ state: 'hidden' });
    await page.getByLabel('web-1').check();
    await control(server, 'cut-logs');
    await page.getByText(/^interrupted/).waitFor();
    await page.getByText('following', { exact: true }).waitFor();
    await control(server, 'print', { project: 'shop', service: 'web', number: 1, text: 'after the cut' });
    await page.getByText('after the cut').waitFor();
    assert.equal(await page.getByText('while paused 2').count(), 1, 'what the new stream repeats is shown once');
    await page.keyboard.press('/');
    await page.keyboard.type('cut');
    await page.waitForURL(/contains=cut/);
    await page.getByRole('heading', { name: 'Lines of shop/web with “cut”' }).waitFor();
    await page.getByText('while paused 2').waitFor({ state: 'hidden' });
    await page.getByText('after the').waitFor();
    await page.getByRole('log').locator('mark', { hasText: 'cut' }).waitFor();
    await look(page, 'logs');
  }, { refusals: ['ERR_INCOMPLETE_CHUNKED_ENCODING', 'ERR_CONNECTION'] }],

  ['lines do not pile up without end, and the lines of a whole project stand in one order', async (page, server) => {
    await signInTo(page, server, '/logs?project=shop&tail=20');
    await page.getByText('following', { exact: true }).waitFor();
    for (let round = 0; round < 5; round += 1) await control(server, 'print', { project: 'shop', service: round % 2 ? 'web' : 'worker', number: 1, text: `burst ${round}`, times: 500 });
    await page.getByText('burst 4 499').waitFor();
    assert.equal(await lines(page).count(), 2000);
    await page.getByText(/the newest 2.000 are kept here, the hosts have more/).waitFor();
  }],

  ['secrets of a project and registries are set and removed, and no value is shown', async (page, server) => {
    await signInTo(page, server, '/projects/shop');
    await page.getByText('version 2, 24 bytes').waitFor();
    await page.getByLabel('Name', { exact: true }).fill('mail');
    await page.getByLabel('Content').fill('hush-hush');
    await page.getByRole('button', { name: 'Set 1 secret' }).click();
    await page.getByText('version 1, 9 bytes').waitFor();
    assert.equal((await page.content()).includes('hush-hush'), false);
    await page.getByRole('button', { name: 'Remove mail' }).click();
    await page.getByLabel('Type mail to go on').fill('mail');
    await page.getByRole('button', { name: 'Remove 1 secret' }).click();
    await page.getByText('version 1, 9 bytes').waitFor({ state: 'hidden' });
    await open(page, '/settings');
    await page.getByLabel('Registry', { exact: true }).fill('images.example');
    await page.getByLabel('User', { exact: true }).fill('puller');
    await page.getByLabel('Password or token').fill('hush-hush');
    await page.getByRole('button', { name: 'Set 1 registry' }).click();
    await page.getByRole('cell', { name: 'images.example', exact: true }).waitFor();
    await page.getByRole('button', { name: 'Remove images.example' }).click();
    await page.getByLabel('Type images.example to go on').fill('images.example');
    await page.getByRole('button', { name: 'Remove 1 registry' }).click();
    await page.getByRole('cell', { name: 'images.example', exact: true }).waitFor({ state: 'hidden' });
  }],

  ['a project goes with all its services, and keeps its volumes unless told otherwise', async (page, server) => {
    await signInTo(page, server, '/projects/shop');
    await page.getByRole('button', { name: 'Remove this project' }).click();
    await page.getByText('Keep 2 volumes: data, old-data.').waitFor();
    await look(page, 'the question before removing a project');
    await page.getByLabel('Type shop to go on').fill('shop');
    await page.getByRole('button', { name: 'Remove 3 services' }).click();
    await page.getByRole('heading', { name: 'Deployment 6 of shop is done: 3 services as it said.' }).waitFor();
  }],

  ['a viewer sees plans and is told why nothing can be deployed', async (page, server) => {
    await signInTo(page, { ...server, user: 'viewer', password: 'viewer' }, '/deploy?project=shop');
    await write(page, 'services:\n  web:\n    image: nginx:1.30\n');
    await page.getByText('image nginx:1.29 → nginx:1.30').waitFor();
    await page.getByText('This needs the role operator; you are signed in as viewer.').first().waitFor();
    await open(page, '/services/shop/web');
    await page.getByRole('button', { name: 'Scale' }).and(page.locator(':disabled')).waitFor();
    assert.equal(await page.getByRole('button', { name: /release \d/ }).count(), 0);
  }],
];
