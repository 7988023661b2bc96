// A state's mark: word, shape and tone.
import { render } from '@testing-library/svelte';
import { expect, test } from 'vitest';
import StatusMark from './StatusMark.svelte';

test('a state is told by word and shape, not by colour alone', () => {
  const shapes = ['connected', 'silent', 'disconnected'].map((word) => {
    const { container, getByText, unmount } = render(StatusMark, { kind: 'agent', word });
    getByText(word);
    const shape = container.querySelector('svg')?.innerHTML;
    unmount();
    return shape;
  });
  expect(new Set(shapes).size).toBe(3);
});
