// What a Compose file wants beside itself, from its text and from what the server says.
import { expect, test } from 'vitest';
import { ApiError } from './api';
import { firstWords, missingIn, nameIn, outlookOf, outlookOfError, variablesIn, wishOf } from './wish';

const plan = { project: 'shop', services: [], warnings: [] as string[], refusals: [] as string[], text: [] };

test('variables and the name are found in the text', () => {
  expect(variablesIn('# $NO\nimage: "web:${TAG:-1}$SUFFIX"\ncost: $$5 ${TAG}\n')).toEqual(['TAG', 'SUFFIX']);
  expect(nameIn('services:\n  name: x\nname: "shop" # the shop\n')).toBe('shop');
  expect(nameIn('services: {}\n')).toBeNull();
});

test('warnings with a place become problems at it, others stay sentences', () => {
  const outlook = outlookOf({ ...plan, warnings: ['compose.yaml:3:5: warning: services.web: the variable TAG is not set and becomes empty', 'the services would run on a, b'] });
  expect(outlook.problems).toEqual([{ file: 'compose.yaml', line: 3, column: 5, severity: 'warning', message: 'services.web: the variable TAG is not set and becomes empty' }]);
  expect(outlook.faults).toEqual(['the services would run on a, b']);
});

test('a refusal about the files is problems or a sentence; no answer is an error', () => {
  const problem = { file: 'compose.yaml', line: 1, column: 1, severity: 'error', message: 'no' };
  expect(outlookOfError(new ApiError(422, 'bad', 'x', 'files', null, { problems: [problem] })).problems).toEqual([problem]);
  expect(outlookOfError(new ApiError(422, 'bad', 'there is no Compose file')).faults).toEqual(['there is no Compose file']);
  expect(outlookOfError(new ApiError(0, 'no answer', 'gone')).error?.status).toBe(0);
});

test('what is missing is read from the words of the server', () => {
  const message = (text: string) => ({ file: '', line: 0, column: 0, severity: 'error' as const, message: text });
  const missing = missingIn({
    plan: { ...plan, refusals: ['the secret db is not set: muster secrets set shop/db sets it'] }, error: null,
    problems: [message('services.web.image: the variable TAG must be set: a version'), message('services.web.env_file: the file "./web.env" was not given')],
    faults: ['the file ./key.txt that the Compose files name was not sent along', 'the secret k wants the variable KEY, which is not set'],
  });
  expect(missing).toEqual({ variables: ['TAG', 'KEY'], files: ['./web.env', './key.txt'], secrets: ['db'] });
});

test('what has to be given first is said by the button', () => {
  const none = { variables: [], files: [], secrets: [] };
  const known = { plan, problems: [] };
  expect(firstWords(known, none)).toBeNull();
  expect(firstWords(known, { ...none, secrets: ['mail'] })).toBe('Set the secret mail first.');
  expect(firstWords(known, { ...none, files: ['a', 'b'], secrets: ['mail'] })).toBe('Choose the files a, b first.');
  // A variable that becomes empty keeps nothing from being deployed as long as there is a plan.
  expect(firstWords(known, { ...none, variables: ['TAG'] })).toBeNull();
  expect(firstWords({ ...known, plan: null }, { ...none, variables: ['TAG'] })).toBe('Give the variable TAG a value first.');
});

test('a file goes along in every form, an empty variable does not', () => {
  const wish = wishOf('a: 1', { variables: { TAG: '2', NONE: '' }, files: { './k': new TextEncoder().encode('x=é') } }, 'why');
  expect(wish.variables).toEqual({ TAG: '2' });
  expect([wish.env_files['./k'], wish.secret_files['./k'], wish.config_files['./k']]).toEqual(['x=é', 'eD3DqQ==', 'eD3DqQ==']);
});
