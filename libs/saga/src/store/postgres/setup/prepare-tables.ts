import type { EngineSql } from '../connection/engine-sql.js';
import { checkMigrated, migrate } from './migrate.js';
import type { Needs } from './needs.js';
import { waitForPromotion } from './wait-for-promotion.js';

/**
 * Prepares the tables of a schema when an application starts: applies pending migrations, or with `migrate: false` checks
 * that everything is there. Waits for the promotion of a standby.
 * @throws SagaConfigurationError
 */
export async function prepareTables(
  sql: EngineSql,
  options: { readonly schema: string; readonly migrate: boolean },
  needs: Needs,
  log: { warn(message: string): void },
): Promise<void> {
  sql.database.requireSchema?.(options.schema);
  const prepare = options.migrate ? migrate : checkMigrated;
  await waitForPromotion(
    () => prepare(sql, options.schema, needs),
    ({ message }) => log.warn(`${message} Waiting for a promotion, as after a failover.`),
  );
}
