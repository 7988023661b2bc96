// The words about hosts: sentences, room, the steps of a joining machine, the commands that do the same.
import { expect, test } from 'vitest';
import { host, joinToken } from '../testing/hosts';
import { NOW } from '../testing/agents';
import { addCommand, agentsSelector, cpuUse, diskUse, hostSentence, hostsSentence, isFound, marksOf, memoryUse, restWords, setCommand, steps, tokenFor, whyNotRemove, worksHereOnly } from './host-words';
import { bytes } from './text';

test('a command that leads to loopback works on the server\'s own machine only', () => {
  for (const place of ['127.0.0.1:5050', 'localhost:5050', '[::1]:5050']) expect(worksHereOnly(`curl -fsS http://${place}/api/agent/v1/install.sh`)).toBe(true);
  for (const place of ['192.0.2.1:5050', 'localhost.example:5050', '[2001:db8::1]:5050']) expect(worksHereOnly(`curl -fsS https://${place}/x`)).toBe(false);
});

test('the sentence counts who is online and who needs somebody, apart', () => {
  const ill = host({ problems: ['its clock is 9 s ahead'] });
  expect(hostsSentence([])).toBe('No machine is a host yet.');
  expect(hostsSentence([host(), ill, host({ state: 'offline' })])).toBe('2 of 3 hosts are online; 1 needs you.');
  expect(hostsSentence([host(), host({ state: 'offline', problems: ['x'] })])).toBe('1 of 2 hosts is online; 1 needs you.');
  expect(hostsSentence([host(), host(), host({ state: 'joining' })])).toBe('2 of 3 hosts are online, 1 is joining; none needs you.');
  expect(hostsSentence([host(), host()])).toBe('All 2 hosts are online; none needs you.');
  expect(hostsSentence([ill, ill])).toBe('All 2 hosts are online; 2 need you.');
  expect([hostsSentence([host()]), hostsSentence([ill])]).toEqual(['The one host is online; nothing is wrong with it.', 'The one host is online; it needs you.']);
});

test('the sentence of a host says since when, what works and how much is wrong', () => {
  expect(hostSentence(host({ ready: 1, problems: ['a', 'b'] }), NOW)).toBe('Online for 1 h; 1 of 2 replicas ready; 2 things are wrong.');
  expect(hostSentence(host({ state: 'offline', replicas: 0, ready: 0, problems: ['a'] }), NOW)).toBe('Offline for 1 h; no replica is meant to run there; 1 thing is wrong.');
  expect(hostSentence(host({ state: 'offline', since: null }), NOW)).toBe('It has never connected; 2 of 2 replicas ready; nothing is wrong there.');
  expect(hostSentence(host({ state: 'offline', replicas: 1, ready: 1 }), NOW)).toBe('Offline for 1 h; 1 of 1 replica ready; nothing is wrong there.');
  expect(hostSentence(host({ state: 'offline', replicas: 2, ready: 0, problems: ['a'] }), NOW)).toBe('Offline for 1 h; 2 replicas stranded; 1 thing is wrong.');
  expect(hostSentence(host({ state: 'joining', since: null, replicas: 0, ready: 0 }), NOW)).toBe('It has joined and has not connected yet; no replica is meant to run there; nothing is wrong there.');
  // It lags for a reason that is told: that is one thing more, on the page and in its sentence.
  expect(hostSentence(host({ in_sync: false, problems: ['a'] }), NOW)).toBe('Online for 1 h; 2 of 2 replicas ready; 2 things are wrong.');
  expect(hostSentence(host({ in_sync: false }), NOW)).toBe('Online for 1 h; 2 of 2 replicas ready; nothing is wrong there.');
  expect(marksOf(host({ mode: 'cordoned', adopting: true }))).toEqual(['online', 'cordoned', 'adopting']);
});

test('an agent on its machine that does not work keeps it from being called well', () => {
  expect(hostSentence(host(), NOW, 1)).toBe('Online for 1 h; 2 of 2 replicas ready; 1 agent on it is unhealthy.');
  expect(hostSentence(host({ problems: ['a'] }), NOW, 2)).toBe('Online for 1 h; 2 of 2 replicas ready; 1 thing is wrong; 2 agents on it are unhealthy.');
});

test('the problems that are not told are counted', () => {
  const ill = host({ problems: ['a', 'b', 'c'] });
  expect([restWords(ill, 1), restWords(ill, 2), restWords(ill, 3), restWords(host(), 1)]).toEqual(['and 2 more', 'and 1 more', '', '']);
});

test('room is told as what is left, and not made up where it is not known', () => {
  expect(memoryUse(host())).toEqual({ share: 0.75, used: '75 %', free: '4.0 GiB free', room: '4.0 GiB of 16.0 GiB free' });
  expect(cpuUse(host())?.room).toBe('3.0 of 4 processors free');
  expect(diskUse(host())?.used).toBe('60 %');
  expect([cpuUse(host({ cpu_used: null })), memoryUse(host({ memory_available_bytes: null })), diskUse(host({ disk_total_bytes: 0 }))]).toEqual([null, null, null]);
  expect([0, 1023, 1024, 1.59 * 2 ** 20, 2 ** 40].map(bytes)).toEqual(['0 B', '1023 B', '1.0 KiB', '1.5 MiB', '1024.0 GiB']);
});

test('a machine that joins is ticked off step by step, and a missing engine is said', () => {
  const open = (one: Parameters<typeof steps>[0]) => steps(one).filter((step) => !step.done).map((step) => step.text);
  const joined = host({ state: 'offline', engine: null, in_sync: false });
  expect(open(null)).toEqual(['the machine joins', 'its agent connects', 'its container engine answers', 'it has applied what it was told']);
  expect(open(joined)).toEqual(['its agent connects; without systemd, run there what joining printed', 'its container engine answers', 'it has applied what it was told']);
  expect(open({ ...joined, state: 'online' })[0]).toBe('its container engine answers: none does yet, install Docker or start it');
  expect(open({ ...joined, state: 'online', engine: '29' })).toEqual(['it has applied what it was told']);
  expect(steps(host()).map((step) => step.text)).toEqual(['joined as one', 'connected from 192.0.2.7, agent 0.1.0', 'engine 29.1.3 answers', 'it has applied what it was told']);
});

test('a host is found by what people know of it', () => {
  const one = host({ labels: { zone: 'a' } });
  expect(['ONE', 'zone=a', 'debian', '192.0.2.7', ' hst_1 ', ''].every((text) => isFound(one, text))).toBe(true);
  expect(isFound(one, 'two')).toBe(false);
});

test('commands do the same, and quote what a shell would act on', () => {
  expect([addCommand('', '1h', ''), addCommand('web-1', '7d', ''), addCommand('x', '1h', 'one')]).toEqual(['muster hosts add', 'muster hosts add web-1 --expires 7d', 'muster hosts add --replace one']);
  const one = host({ labels: { zone: 'a', disk: 'ssd' }, allowed_paths: ['/srv/a'] });
  expect(setCommand(one, { labels: { zone: 'b', note: 'a b' } })).toBe(`muster hosts set one -l zone=b -l 'note=a b' -l disk-`);
  expect(setCommand(one, { allowed_paths: ['/srv/b'] })).toBe('muster hosts set one --allow-path /srv/b --forbid-path /srv/a');
  expect([setCommand(one, { mode: 'cordoned' }), setCommand(one, { mode: 'normal' }), setCommand(one, { name: 'two', adopting: false })]).toEqual([
    'muster hosts set one --cordon', 'muster hosts set one --uncordon', 'muster hosts set one --name two --adopting=false',
  ]);
  expect([agentsSelector(host()), agentsSelector(host({ machine_id: 'a,b="c"' }))]).toEqual(['host.id=4c1d5ae07b9f4e22', 'host.id="a,b=\\"c\\""']);
});

test('a host with replicas cannot be removed, and a token says for whom it is', () => {
  expect(whyNotRemove(host({ replicas: 1 }))).toBe('1 replica is meant to run here: remove its service, or cordon the host and deploy it elsewhere.');
  expect(whyNotRemove(host({ replicas: 0 }))).toBeNull();
  expect([tokenFor(joinToken()), tokenFor(joinToken({ host_name: 'web-1' })), tokenFor(joinToken({ for_host: 'one' }))]).toEqual(['any machine, called as it is', 'web-1', 'in place of one']);
});
