import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { DeclaredOptions, redrawn, tablesOf } from './option-tables.js';

const PAGE = fileURLToPath(new URL('options.md', import.meta.url));
/** Options in name alone: what is given by the applications' own types. */
const NO_OPTIONS = [
  'ReasonOptions',
  'SagaAdminModuleAsyncOptions',
  // Its options are in the tables of the two that extend it.
  'WaitOptions',
];

describe('the page of all options', () => {
  const declared = new DeclaredOptions(fileURLToPath(new URL('../libs', import.meta.url)));
  if (process.env.GENERATE) writeFileSync(PAGE, redrawn(readFileSync(PAGE, 'utf8'), declared));
  const tables = tablesOf(readFileSync(PAGE, 'utf8'));

  test.each(tables.map((table) => [table.of, table] as const))(
    'has every option of %s, with its type, default and purpose, and no other (npm run generate)',
    (_, { of, beyond, rows }) => {
      expect(rows.map(({ more: _more, ...row }) => row)).toEqual(declared.of(of, beyond));
    },
  );

  test('says of every option what it does when it is left out, and where to read on', () => {
    const silent = tables.flatMap(({ of, rows }) =>
      rows
        .filter((row) => row.default === '?' || row.purpose === '' || !row.more.includes(']('))
        .map((row) => `${of}.${row.name}`),
    );
    expect(silent).toEqual([]);
  });

  test('has every public interface of options', () => {
    const shown = new Set(tables.map(({ of }) => of));
    expect(declared.names().filter((name) => !shown.has(name) && !NO_OPTIONS.includes(name))).toEqual([]);
  });
});
