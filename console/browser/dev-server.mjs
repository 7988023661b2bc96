// The real binary, started as `make run` starts it: `muster dev` with its demo agent, in a folder of its own and on
// ports that the kernel chooses. Its address and login are read from what it prints, as a newcomer reads them.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** How long a debug binary may take on a busy machine: to start, and for one command. */
const START_MS = 120_000;
const COMMAND_MS = 120_000;

/** What it printed until it said that it is ready; rejects with all of it when it ends before. */
function greeting(child) {
  return new Promise((resolve, reject) => {
    const lines = [];
    const found = {};
    const give = (why) => reject(new Error(`muster dev ${why}; it said:\n${lines.join('\n')}`));
    const timer = setTimeout(give, START_MS, 'was not ready in time');
    const read = (line) => {
      lines.push(line);
      const [, word, rest] = /^(console|login)\s+(.*)$/.exec(line) ?? [];
      if (word) found[word] = rest;
      if (!line.startsWith('Ctrl-C')) return;
      clearTimeout(timer);
      const [, user, password] = /^(\S+) \/ (\S+)/.exec(found.login ?? '') ?? [];
      if (found.console && password) resolve({ url: found.console.replace(/\/$/, ''), user, password });
      else give('printed no console or no login');
    };
    createInterface(child.stdout).on('line', read);
    createInterface(child.stderr).on('line', (line) => lines.push(line));
    child.once('error', (error) => give(error.message));
    child.once('exit', (code) => give(`ended with code ${code}`));
  });
}

/** Starts `binary dev`; gives where to sign in, a command line that is logged in, and a way to end it. */
export async function startDev(binary) {
  const folder = await mkdtemp(join(tmpdir(), 'muster-browser-'));
  // Nothing of the person's own settings: the command line knows this server because `muster dev` logged it in.
  const env = { PATH: process.env.PATH, HOME: folder, NO_COLOR: '1' };
  const child = spawn(binary, ['dev', '--no-demo-host', '--data-dir', join(folder, 'data'), '--listen', '127.0.0.1:0', '--opamp-listen', '127.0.0.1:0'], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = new Promise((done) => child.once('close', done));
  const close = async () => {
    child.kill('SIGTERM');
    await ended;
    await rm(folder, { recursive: true, force: true });
  };
  try {
    return { ...(await greeting(child)), cli: (words, files) => run(binary, { words, files, folder, env }), close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** One command: its exit code and what it printed. `files` are written beside it first. */
async function run(binary, { words, files = {}, folder, env }) {
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  return new Promise((done) => {
    execFile(binary, words, { cwd: folder, env, timeout: COMMAND_MS }, (error, out, err) => done({ code: error ? error.code : 0, out, err }));
  });
}

/** Runs a command that must end well, or with the code that is told. */
export async function cli(server, words, { files, code = 0 } = {}) {
  const ran = await server.cli(words, files);
  assert.equal(ran.code, code, `muster ${words.join(' ')} ended with ${ran.code}:\n${ran.out}${ran.err}`);
  return ran.out;
}
