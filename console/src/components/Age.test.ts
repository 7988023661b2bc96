// Ages: relative, absolute on hover, and what stands for no time.
import { render } from '@testing-library/svelte';
import { expect, test } from 'vitest';
import Age from './Age.svelte';

test('an age carries its absolute time with the zone', () => {
  const { container } = render(Age, { time: new Date(Date.now() - 65_000).toISOString() });
  const time = container.querySelector('time');
  expect(time?.textContent).toBe('1 min ago');
  expect(time?.title).toMatch(/UTC/);
});

test('no time and unreadable times are shown for what they are', () => {
  expect(render(Age, { time: null }).container.textContent).toBe('never');
  expect(render(Age, { time: 'soon' }).container.textContent).toContain('soon');
});
