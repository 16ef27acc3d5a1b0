import { type EntityManager, QueryFailedError, type QueryRunner } from 'typeorm';
import { OWN_TYPES } from './own-types.js';
import type { PgClient } from './pg-types.js';
import { withoutValues } from './redact-message.js';

/** Whatever runs SQL: a saga DataSource (each statement its own transaction) or a transaction. */
export interface Sql {
  query<Rows = unknown>(text: string, parameters?: unknown[]): Promise<Rows>;
}

/**
 * The engine's statements in a transaction of the application's. What they answer is read by the engine's own parsers,
 * whatever parsers the application has, and what they are given is in no log and no error.
 */
export class ApplicationSql implements Sql {
  constructor(private readonly manager: EntityManager) {}

  async query<Rows = unknown>(text: string, parameters?: unknown[]): Promise<Rows> {
    const { queryRunner, connection } = this.manager as Partial<EntityManager>;
    if (queryRunner) return send<Rows>(queryRunner, text, parameters);
    // Whatever has a query() is taken for a transaction: one that is no TypeORM's goes by its own parsers.
    if (!connection) return this.manager.query<Rows>(text, parameters);
    const own = connection.createQueryRunner();
    try {
      return await send<Rows>(own, text, parameters);
    } finally {
      await own.release();
    }
  }
}

async function send<Rows>(runner: QueryRunner, text: string, parameters?: unknown[]): Promise<Rows> {
  // TypeORM says what is wrong with it.
  if (runner.isReleased) return runner.query(text) as Promise<Rows>;
  const client = (await runner.connect()) as PgClient;
  const { logger } = runner.connection;
  logger.logQuery(text, undefined, runner);
  try {
    return (await client.query({ text, values: parameters, types: OWN_TYPES })).rows as Rows;
  } catch (error) {
    const failure = withoutValues(error as Error);
    logger.logQueryError(failure, text, undefined, runner);
    throw new QueryFailedError(text, undefined, failure);
  }
}
