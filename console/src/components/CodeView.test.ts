// A file as text: numbered, folded, never markup.
import { fireEvent, render } from '@testing-library/svelte';
import { expect, test } from 'vitest';
import CodeView from './CodeView.svelte';

test('a long file is folded and can be unfolded', async () => {
  const text = Array.from({ length: 100 }, (_, index) => `line ${index + 1}`).join('\n');
  const { container, getByRole } = render(CodeView, { text, name: 'a.yaml', fold: 10 });
  expect(container.querySelectorAll('.hang')).toHaveLength(10);
  await fireEvent.click(getByRole('button', { name: 'Show all 100 lines' }));
  expect(container.querySelector('.text')?.textContent).toContain('line 100');
});

test('s38 markup in a file stays text', () => {
  const { container } = render(CodeView, { text: '<img src=x onerror=alert(1)>', name: 'a' });
  expect(container.querySelector('img')).toBeNull();
  expect(container.querySelector('.text')?.textContent).toBe('<img src=x onerror=alert(1)>');
});

test('a long line breaks below its own beginning; a very long file is not taken apart', async () => {
  const { container, rerender } = render(CodeView, { text: 'a:\n    b: c\n', name: 'a' });
  expect([...container.querySelectorAll('.hang')].map((line) => line.className.split(' ').filter((word) => word.startsWith('hang')).join(' '))).toEqual(['hang hang-0', 'hang hang-4']);
  expect(container.querySelector('.text')?.textContent).toBe('a:\n    b: c');
  await rerender({ text: 'x\n'.repeat(3000), name: 'a', fold: 4000 });
  expect(container.querySelectorAll('.hang')).toHaveLength(0);
  expect(container.querySelector('.gutter')?.textContent?.split('\n')).toHaveLength(3000);
});
