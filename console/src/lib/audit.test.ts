// Audit entries: what changed, field by field, and where their objects are.
import { expect, test } from 'vitest';
import { absolute } from './time';
import { ACTIONS, actionSentence, actionWords, changed, objectHref, objectWords } from './audit';

test('only what changed is named', () => {
  expect(changed({ role: 'viewer', disabled: false }, { role: 'admin', disabled: true, labels: { a: '1' } })).toEqual([
    { field: 'role', from: 'viewer', to: 'admin' },
    { field: 'disabled', from: 'no', to: 'yes' },
    { field: 'labels', from: null, to: 'a=1' },
  ]);
  expect(changed(null, null)).toEqual([]);
  expect(changed(null, { expires_at: 1764471845000, batch_percent: 25 })).toEqual([
    { field: 'expires', from: null, to: absolute('2025-11-30T03:04:05.000Z') },
    { field: 'batch', from: null, to: '25 %' },
  ]);
});

test('objects lead to their pages', () => {
  expect(['config/web', 'assignment/7', 'agent/a', 'user/olga', 'agents', 'backup'].map(objectHref)).toEqual([
    '/configs/web', '/assignments/7', '/agents/a', '/settings', '/agents', null,
  ]);
});

test('what was done is said in words, and what is not known as it came', () => {
  expect(['assignment.create', 'config.revise', 'rocket.launch'].map(actionWords)).toEqual(['made', 'saved a revision of', 'rocket.launch']);
  expect(['assignment/7', 'config/web', 'join-token/4', 'agents'].map(objectWords)).toEqual(['assignment 7', 'configuration web', 'join token 4', 'agents']);
});

test('every action of the filter is told in words', () => {
  expect(['assignment.create', 'session.begin', 'label.change', 'config.revise'].map(actionSentence)).toEqual(['made assignment', 'signed in', 'changed the labels of agent', 'saved a revision of configuration']);
  expect(ACTIONS.filter((action) => actionWords(action) === action)).toEqual([]);
});
