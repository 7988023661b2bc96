// Drafts: kept, found again, nonsense ignored, a full browser told; names of files by the server's rules.
import { expect, test } from 'vitest';
import { dropDraft, keepDraft, nameFault, readDraft, sameFiles, type Draft } from './drafts';
import { applyCommand } from './configs';

const draft: Draft = { files: [{ name: 'a.yaml', body: 'a: 1\n' }], message: 'm', basedOn: 3, name: 'web', description: '', at: '2026-11-30T03:00:00.000Z' };

test('a draft is found again until it is dropped', () => {
  expect(keepDraft('web', draft)).toBe(true);
  expect(readDraft('web')).toEqual(draft);
  dropDraft('web');
  expect(readDraft('web')).toBeNull();
});

test('nonsense in the storage is no draft, and a full storage is told', () => {
  const broken = { getItem: () => '{"files":[]}', setItem: () => { throw new DOMException('full'); }, removeItem: () => {} } as unknown as Storage;
  expect(readDraft('web', broken)).toBeNull();
  expect(keepDraft('web', draft, broken)).toBe(false);
});

test('names of files follow the rules of the server', () => {
  const fault = (...names: string[]) => nameFault(names.map((name) => ({ name, body: '' })), 0);
  expect([fault(''), fault('a.yaml', 'b.yaml'), fault('dir/a.yaml')]).toEqual([null, null, null]);
  expect([fault('', 'a'), fault('a', 'a'), fault('/a'), fault('a/../b'), fault('a\\b'), fault('é'.repeat(200)), fault('a\u0007')].every((found) => typeof found === 'string')).toBe(true);
});

test('files are compared by name and body, and the command names them', () => {
  expect(sameFiles(draft.files, [{ name: 'a.yaml', body: 'a: 1\n' }])).toBe(true);
  expect(sameFiles(draft.files, [])).toBe(false);
  expect(applyCommand('web', draft.files, 'fix it')).toBe("muster configs apply web -f a.yaml -m 'fix it'");
});
