// The audit in rows: before and after, hostile text harmless.
import { render } from '@testing-library/svelte';
import { expect, test } from 'vitest';
import { HOSTILE } from '../testing/agents';
import AuditList from './AuditList.svelte';

test('before and after are shown as text', () => {
  const item = { id: '1', at: '2026-11-30T03:00:00.000Z', actor: { kind: 'user' as const, name: 'olga' }, address: '::1', action: 'user.change', object: 'user/eve', before: { role: 'viewer' }, after: { role: HOSTILE } };
  const { container, getByText, getByRole } = render(AuditList, { items: [item] });
  expect(getByText('changed').title).toBe('user.change');
  expect(getByRole('link', { name: 'user eve' }).getAttribute('href')).toBe('/settings');
  expect(container.querySelector('del')?.textContent).toBe('viewer');
  expect(container.querySelector('img')).toBeNull();
});
