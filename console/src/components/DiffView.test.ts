// A difference: signs and words for each line, unseen characters written out, equality said.
import { render } from '@testing-library/svelte';
import { expect, test } from 'vitest';
import type { Diff } from '../lib/configs';
import DiffView from './DiffView.svelte';

test('lines carry their sign, their numbers and visible text', () => {
  const diff: Diff = {
    files: [{ name: 'a.yaml', change: 'changed', lines: [{ kind: 'removed', old: 1, new: null, text: 'a: 1' }, { kind: 'added', old: null, new: 1, text: 'a: \u202e2' }] }],
    changes: [],
  };
  const { container, getByText } = render(DiffView, { diff });
  expect([...container.querySelectorAll('tbody tr')].map((row) => row.textContent?.replace(/\s+/g, ' '))).toEqual([
    expect.stringMatching(/1.*−removed ?a: 1/), expect.stringMatching(/1 ?\+added ?a: \\u202e2/),
  ]);
  getByText(/1 line more, 1 line less/);
  getByText('+1');
  getByText('−1');
});

test('nothing is said to differ when nothing does', () => {
  const { getByText } = render(DiffView, { diff: { files: [], changes: [] } });
  getByText('The files are equal.');
});
