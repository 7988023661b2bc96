// Lines of replicas: named and coloured, the time on hover, hostile text as text.
import { render } from '@testing-library/svelte';
import { expect, test } from 'vitest';
import { HOSTILE } from '../testing/agents';
import LogLines from './LogLines.svelte';

const line = { id: 1, key: 'a', at: '2026-11-30T03:04:05.678901Z', replica: 'web-2', host: 'eu-2', stream: 'err', text: 'GET /' };
const props = { lines: [line], replicas: ['web-1', 'web-2'], times: false, label: 'Lines' };

test('each line has its replica in words and colour, its stream and its time', async () => {
  const { getByText, container, rerender } = render(LogLines, props);
  expect(getByText('web-2').className).toContain('c1');
  getByText('err');
  expect(container.querySelector('.line')?.getAttribute('title')).toMatch(/05\.678.*, on eu-2/);
  expect(container.querySelector('time')).toBeNull();
  await rerender({ times: true });
  expect(container.querySelector('time')?.textContent).toContain('05.678');
});

test('names are filled up to the longest, and what was looked for is marked', () => {
  const { container } = render(LogLines, { ...props, lines: [{ ...line, text: 'a 502 and 502' }], replicas: ['web-2', 'worker-1'], contains: '502' });
  expect(container.querySelector('.line')?.textContent).toBe('web-2    err a 502 and 502');
  expect([...container.querySelectorAll('mark')].map((mark) => mark.textContent)).toEqual(['502', '502']);
});

test('s38 what a program prints is text', () => {
  const { container } = render(LogLines, { ...props, lines: [{ ...line, text: HOSTILE, replica: HOSTILE }] });
  expect(container.querySelector('img')).toBeNull();
  expect(container.textContent).not.toContain('\u202e');
  expect(container.querySelector('.text')?.textContent).toContain('\\u202e');
});
