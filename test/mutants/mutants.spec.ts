import { fileURLToPath } from 'node:url';
import { Library } from './library.js';
import type { Mutant } from './mutant.js';
import { MUTANTS } from './mutants.js';
import { SpecFiles } from './spec-files.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

describe('the list of mutants', () => {
  test('replaces code that is in one place of the library', () => {
    const library = Library.in(ROOT);
    expect(MUTANTS.flatMap((mutant) => library.problemOf(mutant) ?? [])).toEqual([]);
  });

  test('names specs that exist', () => {
    const files = new SpecFiles(ROOT);
    const names = MUTANTS.flatMap(({ killers }) =>
      killers.flatMap((killer) => (killer.kind === 'specs' ? killer.names : [])),
    );
    expect([...new Set(names)].filter((name) => files.named(name).length === 0)).toEqual([]);
  });

  test('has a name of its own for each mutant', () => {
    expect(new Set(MUTANTS.map(({ name }) => name)).size).toBe(MUTANTS.length);
  });
});

describe('the code that a mutant replaces', () => {
  const mutant = (find: string, replace: string, given: Partial<Mutant> = {}): Mutant => ({
    ...{ name: 'break it', find, replace, killers: [] },
    ...given,
  });
  const libraryOf = (texts: Record<string, string>) => Library.of(new Map(Object.entries(texts)));
  const LINES = `
    class Line {
      next() { return first(this.rows, 0); }
    }`;
  const STATEMENTS = `-- name: next_1
CREATE FUNCTION saga.next_1() AS SELECT 1 WHERE true;

-- name: last_1
CREATE FUNCTION saga.last_1() AS SELECT 2 WHERE true;`;

  test('is found in whatever file it is, and however that is formatted', () => {
    const broken = mutant('return first(this.rows, 0);', 'return undefined;');
    const formatted = 'class Line { next() { return first(\n this.rows,\n 0,\n ); } }';
    expect(libraryOf({ 'a.ts': LINES }).mutated(broken)).toContain('next() { return undefined; }');
    expect(libraryOf({ 'b/c.ts': formatted }).mutated(broken)).toBe(
      'class Line { next() { return undefined; } }',
    );
  });

  test('is in a member of a class, or in an SQL function', () => {
    const library = libraryOf({ 'a.ts': LINES, 'a.sql': STATEMENTS });
    expect(library.placeOf(mutant('first(', 'last('))).toMatchObject({ declaration: 'Line.next' });
    const sql = mutant('WHERE true', 'WHERE false', { in: 'last_1' });
    expect(library.placeOf(sql)).toMatchObject({ file: 'a.sql', sqlFunction: 'last_1' });
    expect(library.mutated(sql)).toMatch(/SELECT 1 WHERE true;[^]*SELECT 2 WHERE false;/);
  });

  test('is refused if it is missing, if it occurs twice, and if nothing is changed', () => {
    const library = libraryOf({ 'a.sql': STATEMENTS });
    expect(library.problemOf(mutant('WHERE true', 'WHERE false'))).toContain(
      'next_1 (a.sql), last_1 (a.sql)',
    );
    expect(library.problemOf(mutant('WHERE no', 'WHERE false'))).toContain('is not in the packages');
    expect(library.problemOf(mutant('WHERE true', 'WHERE true', { in: 'next_1' }))).toContain(
      'changes nothing',
    );
    expect(() => library.mutated(mutant('WHERE true', 'WHERE false'))).toThrow('occurs 2 times');
  });
});

test('a spec is found by its name in any folder, and by the folders on its path', () => {
  const files = new SpecFiles(ROOT);
  expect(files.named('mutants')).toEqual(['test/mutants/mutants.spec.ts']);
  expect(files.named('test/mutants')).toEqual(['test/mutants/mutants.spec.ts']);
  expect(files.named('libs/mutants')).toEqual([]);
  expect(files.named('mutant')).toEqual([]);
});
