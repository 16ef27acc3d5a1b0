import { readFileSync } from 'node:fs';
import { misplaced } from './mutant.js';
import { MUTANTS } from './mutants.js';

const LIBRARY = new URL('../../libs/saga/src/', import.meta.url);

test('what each mutant replaces is still there, once', () => {
  const texts = new Map(MUTANTS.map(({ file }) => [file, readFileSync(new URL(file, LIBRARY), 'utf8')]));
  expect(MUTANTS.flatMap((mutant) => misplaced(mutant, texts.get(mutant.file)!) ?? [])).toEqual([]);
});

test('each mutant has a name of its own', () => {
  expect(new Set(MUTANTS.map(({ name }) => name)).size).toBe(MUTANTS.length);
});
