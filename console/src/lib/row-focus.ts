// Arrow keys in a table: the focus moves over the links that open the rows. The DOM is the state; there is no
// selection to keep in step with it.
import type { KeyAction } from './keys';

/** Moves the focus; false when the page has no rows. */
export function moveInTable(action: KeyAction, root: ParentNode = document): boolean {
  const rows = [...root.querySelectorAll<HTMLElement>('[data-row]')];
  if (rows.length === 0) return false;
  const at = rows.indexOf(document.activeElement as HTMLElement);
  // Home and End scroll the page as ever unless somebody is walking over rows.
  if (at < 0 && (action === 'first' || action === 'last')) return false;
  const target = { down: at + 1, up: at < 0 ? rows.length - 1 : at - 1, first: 0, last: rows.length - 1 }[action as string];
  if (target === undefined) return false;
  const row = rows[Math.min(Math.max(target, 0), rows.length - 1)];
  row?.focus();
  row?.scrollIntoView?.({ block: 'nearest' });
  return true;
}
