// Audit entries: what changed, field by field, and where their objects are.
import { expect, test } from 'vitest';
import { changed, objectHref } from './audit';

test('only what changed is named', () => {
  expect(changed({ role: 'viewer', disabled: false }, { role: 'admin', disabled: false, labels: { a: 1 } })).toEqual([
    { field: 'role', from: 'viewer', to: 'admin' },
    { field: 'labels', from: null, to: '{"a":1}' },
  ]);
  expect(changed(null, null)).toEqual([]);
});

test('objects lead to their pages', () => {
  expect(['config/web', 'assignment/7', 'agent/a', 'user/olga', 'agents', 'backup'].map(objectHref)).toEqual([
    '/configs/web', '/assignments/7', '/agents/a', '/settings', '/agents', null,
  ]);
});
