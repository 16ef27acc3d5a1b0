import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { sqlModule } from '../../scripts/sql.mjs';
import { FUNCTIONS, STATEMENTS } from '../../libs/saga/src/store/postgres/sql.generated.js';
import { SQL_VALUES } from '../../libs/saga/src/store/postgres/sql-values.js';

const STORE = fileURLToPath(new URL('../../libs/saga/src/store/postgres', import.meta.url));

describe('the .sql files', () => {
  test('are in the module that is generated from them (npm run generate)', () => {
    expect(sqlModule(STORE)).toBe(readFileSync(`${STORE}/sql.generated.ts`, 'utf8'));
  });

  test('let no plan be compiled that a setting makes expensive', () => {
    const pinned = Object.values(FUNCTIONS).filter(({ text }) => text.includes('SET enable_seqscan = off'));
    expect(pinned.length).toBeGreaterThan(20);
    expect(pinned.filter(({ text }) => !text.includes('SET jit = off'))).toEqual([]);
  });

  test('name each value that TypeScript gives', () => {
    const named = new Set<string>(
      [...Object.values(FUNCTIONS), ...Object.values(STATEMENTS)].flatMap(
        ({ values }): readonly string[] => values,
      ),
    );
    const ofTables = /^(START|SAGA|STEP|MESSAGE)_(TYPES|GIVEN|COLUMNS|AGGREGATES)/;
    expect(Object.keys(SQL_VALUES).filter((name) => !named.has(name) && !ofTables.test(name))).toEqual([]);
  });
});
