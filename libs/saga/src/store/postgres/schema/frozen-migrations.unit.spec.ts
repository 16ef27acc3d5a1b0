import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { FROZEN_FOLDER, frozenMigrations } from '../../../../../../test/support/frozen-migrations.js';
import { createMessagingTables } from './create-messaging-tables.js';
import { createSagaTables } from './create-saga-tables.js';
import { MESSAGING_TABLES_0_1_0 } from './frozen/messaging-tables-0.1.0.sql.js';
import { forSchema, SCHEMA_NAME } from './frozen/migration-sql.js';
import { PARTITIONS_0_1_0 } from './frozen/partitions-0.1.0.sql.js';
import { SAGA_TABLES_0_1_0 } from './frozen/saga-tables-0.1.0.sql.js';
import { partitionTables } from './partition-tables.sql.js';
import { messagingMigrations, sagaMigrations } from './saga-migrations.js';

const ROOT = fileURLToPath(new URL('../../../../../../', import.meta.url));
const VERSION = '0.1.0';

/**
 * Before the release of a version, its frozen text follows what builds the SQL. After it, the text is final: a change of
 * a table or a function then gets a migration of its own, with a frozen text for the next version.
 */
describe('the frozen text of a migration', () => {
  const changelog = readFileSync(`${ROOT}CHANGELOG.md`, 'utf8');
  const isReleased = changelog.includes(`\n## ${VERSION}`);

  test.each([...frozenMigrations()])(
    '%s is what the builders of the SQL make (UPDATE_MIGRATIONS=1 writes it anew, until the version is released)',
    (name, made) => {
      const path = `${ROOT}${FROZEN_FOLDER}/${name}`;
      if (process.env.UPDATE_MIGRATIONS && !isReleased) writeFileSync(path, made);
      expect(readFileSync(path, 'utf8')).toBe(made);
    },
  );

  test('is read from its file as it was built, whatever characters it has', () => {
    expect(MESSAGING_TABLES_0_1_0).toEqual(createMessagingTables(SCHEMA_NAME));
    expect(SAGA_TABLES_0_1_0).toEqual(createSagaTables(SCHEMA_NAME));
    expect(PARTITIONS_0_1_0).toEqual(partitionTables(SCHEMA_NAME));
  });

  test('gets the name of the schema wherever it stands, whatever the name is', () => {
    expect(forSchema('CREATE TABLE "{schema}".step; NOTIFY {schema}_wakeup', 'orders_1')).toBe(
      'CREATE TABLE "orders_1".step; NOTIFY orders_1_wakeup',
    );
    expect(forSchema("SELECT '{}', '{schema}'", '$&')).toBe("SELECT '{}', '$&'");
  });

  test.each(['orders', 'saga'])('leaves nothing of the placeholder in schema %s', async (schema) => {
    for (const Migration of [...sagaMigrations(schema), ...messagingMigrations(schema)]) {
      const sent: string[] = [];
      const queryRunner = { query: (sql: string) => Promise.resolve(void sent.push(sql)) };
      const migration = new Migration();
      await migration.up(queryRunner as never);
      await migration.down(queryRunner as never);
      expect(sent.filter((sql) => /\{schema\}/.test(sql))).toEqual([]);
      expect(sent[0]).toBe(`CREATE SCHEMA IF NOT EXISTS "${schema}"`);
    }
  });
});
