// Columns that do not fit fold, the least important first, and none is lost.
import { expect, test } from 'vitest';
import { fit } from './fold';

const COLUMNS = [{ id: 'name', least: 120 }, { id: 'why', least: 200, fold: 2 }, { id: 'host', least: 100, fold: 1 }, { id: 'made', least: 100, fold: 2 }];
const ids = (width: number): string[] => Object.values(fit(COLUMNS, width)).map((part) => part.map((one) => one.id).join(' '));

test('columns fold until the rest has room, what folds last stands first below', () => {
  expect(ids(520)).toEqual(['name why host made', '']);
  expect(ids(519)).toEqual(['name why host', 'made']);
  expect(ids(419)).toEqual(['name host', 'why made']);
  expect(ids(219)).toEqual(['name', 'host why made']);
});

test('a column that never folds stays where there is no room at all, and an unknown width folds nothing', () => {
  expect(ids(10)).toEqual(['name', 'host why made']);
  expect(ids(0)).toEqual(['name why host made', '']);
});
