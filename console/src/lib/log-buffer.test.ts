// Lines in the order of time, each once, and no more than fit.
import { expect, test } from 'vitest';
import { LogBuffer, type LogLine } from './log-buffer';
import { LineParser } from './lines';

const line = (at: string, text = at, over: Partial<LogLine> = {}): LogLine => ({ at, replica: 'web-1', host: 'eu-1', stream: 'out', text, ...over });
const texts = (buffer: LogBuffer): string[] => buffer.lines.map((one) => one.text);

test('lines of several replicas stand in the order of time', () => {
  const buffer = new LogBuffer(10);
  buffer.add([line('1'), line('4')]);
  buffer.add([line('2'), line('3')]);
  buffer.add([line('0')]);
  expect(texts(buffer)).toEqual(['0', '1', '2', '3', '4']);
});

test('what a stream repeats is kept once, equal lines in a row are all', () => {
  const buffer = new LogBuffer(10);
  expect(buffer.add([line('1', 'a'), line('1', 'a')])).toBe(2);
  expect(buffer.add([line('1', 'a'), line('1', 'a'), line('2', 'b')])).toBe(1);
  expect(texts(buffer)).toEqual(['a', 'a', 'b']);
});

test('it does not grow: the oldest go, and it is counted', () => {
  const buffer = new LogBuffer(3);
  for (let at = 0; at < 9; at += 1) buffer.add([line(String(at))]);
  expect(texts(buffer)).toEqual(['6', '7', '8']);
  expect(buffer.cut).toBe(6);
  expect(buffer.add([line('1')])).toBe(1);
  expect(texts(buffer)).toEqual(['6', '7', '8']);
});

test('objects are cut out of pieces that end anywhere; signs of life and junk are none', () => {
  const parser = new LineParser();
  expect(parser.feed('{"a":1}\n\n{"b"')).toEqual([{ a: 1 }]);
  expect(parser.feed(':2}\nnot json\n7\n')).toEqual([{ b: 2 }]);
});
