import { DataSource } from 'typeorm';
import { NEEDS } from '../../libs/restate/src/application-tables.js';
import { hintsIn } from '../../libs/saga/src/nest/database-runtime.js';
import type { OwnTables } from '../../libs/saga/src/nest/external-engine.js';
import { migrate } from '../../libs/saga/src/store/postgres/setup/migrate.js';
import { sqlOf } from '../../libs/saga/src/store/postgres/typeorm/typeorm-database.js';
import { createTestDatabase } from '../support/test-database.js';

const SCHEMA = 'saga';
/** Longer than any statement takes (ms). */
const PATIENCE = 60_000;
const SILENT = { debug() {}, log() {}, warn() {}, error() {} };

/** A database of an application whose sagas are in Restate. */
export interface ApplicationDatabase {
  readonly application: DataSource;
  readonly own: OwnTables;
  drop(): Promise<void>;
}

export async function applicationDatabase(): Promise<ApplicationDatabase> {
  const database = await createTestDatabase();
  const application = await new DataSource({ type: 'postgres', url: database.url }).initialize();
  const sql = sqlOf(application);
  await migrate(sql, SCHEMA, NEEDS);
  return {
    application,
    own: { sql, schema: SCHEMA, wakeup: hintsIn(sql, { schema: SCHEMA }, PATIENCE, SILENT) },
    drop: async () => {
      await application.destroy();
      await database.drop();
    },
  };
}
