import { SagaConfigurationError } from '../../../errors.js';
import type { EngineSql } from '../connection/engine-sql.js';

/** What pgbouncer answers to BEGIN in statement mode. */
const STATEMENT_MODE = /statement pooling/i;

/**
 * A pooler in statement mode gives each statement a connection of its own, and has no transactions.
 * @throws SagaConfigurationError when there is one in between
 */
export async function requireTransactions(sql: EngineSql, module: string): Promise<void> {
  try {
    await sql.transaction(() => Promise.resolve());
  } catch (error) {
    if (!STATEMENT_MODE.test((error as Error).message)) throw error;
    throw new SagaConfigurationError(
      `${module} requires transactions of several statements, but the pooler between this process and PostgreSQL is in ` +
        `statement mode. Set pool_mode to transaction or session for this database in pgbouncer.ini.`,
      { cause: error },
    );
  }
}
