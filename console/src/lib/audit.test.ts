// Audit entries: what changed, field by field, and where their objects are.
import { expect, test } from 'vitest';
import { changed, objectHref } from './audit';

test('only what changed is named', () => {
  expect(changed({ role: 'viewer', disabled: false }, { role: 'admin', disabled: false, labels: { a: 1 } })).toEqual([
    { field: 'role', from: 'viewer', to: 'admin' },
    { field: 'labels', from: null, to: '{"a":1}' },
  ]);
  expect(changed(null, null)).toEqual([]);
  expect(changed(null, { expires_at: 1764471845000, priority: 10 })).toEqual([
    { field: 'expires_at', from: null, to: '2025-11-30T03:04:05.000Z' },
    { field: 'priority', from: null, to: '10' },
  ]);
});

test('objects lead to their pages', () => {
  expect(['config/web', 'assignment/7', 'agent/a', 'user/olga', 'agents', 'backup'].map(objectHref)).toEqual([
    '/configs/web', '/assignments/7', '/agents/a', '/settings', '/agents', null,
  ]);
});
