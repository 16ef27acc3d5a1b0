import type { DataSource } from 'typeorm';
import { DEMO_SCHEMA } from './schema.js';

/** "demo" in ASCII. */
const MIGRATION_LOCK = 0x64656d6f;

/** Applies pending migrations, once, however many processes start at this moment. */
export async function migrate(dataSource: DataSource): Promise<void> {
  await dataSource.transaction(async (manager) => {
    await manager.query('SELECT pg_advisory_xact_lock($1)', [MIGRATION_LOCK]);
    // On another connection, so that it is committed before the lock is given back.
    await dataSource.query(`CREATE SCHEMA IF NOT EXISTS ${DEMO_SCHEMA}`);
    await dataSource.runMigrations();
  });
}
