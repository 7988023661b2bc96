// Problems are placed in the text, also those whose place is not there.
import { Text } from '@codemirror/state';
import { expect, test } from 'vitest';
import { placeOf } from './editor';

test('a place outside of the text is the nearest inside', () => {
  const text = Text.of(['abc', 'de']);
  expect(placeOf(text, { line: 2, column: 2 })).toEqual({ from: 5, to: 6, start: 4 });
  expect(placeOf(text, { line: 9, column: 9 })).toEqual({ from: 6, to: 6, start: 4 });
  expect(placeOf(text, { line: 0, column: 0 })).toEqual({ from: 0, to: 3, start: 0 });
});
