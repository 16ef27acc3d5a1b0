import type { EntityManager, QueryRunner } from 'typeorm';
import { OWN_TYPES } from '../connection/own-types.js';
import type { PgClient } from '../connection/pg-types.js';
import { withoutValues } from '../connection/redact-message.js';
import type { JoinedTransaction } from '../connection/saga-database.js';
import { asEngineFailure } from '../connection/transient-errors.js';
import { typeOrm } from './typeorm-package.js';

/**
 * The engine's statements in a transaction of a TypeORM EntityManager. What they answer is read by the engine's own
 * parsers, whatever parsers the application has, and what they are given is in no log and no error.
 */
export class TypeOrmTransaction implements JoinedTransaction {
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

  async connection(): Promise<object | undefined> {
    const { queryRunner } = this.manager;
    return queryRunner?.connect && ((await queryRunner.connect()) as object);
  }

  follow(): (() => boolean) | undefined {
    const runner = this.manager.queryRunner;
    return runner && (() => runner.isTransactionActive && !runner.isReleased);
  }
}

/** The error of a statement, as TypeORM throws it. */
export function queryFailed(text: string, error: Error): Error {
  const { QueryFailedError } = typeOrm('SagaModule');
  return new QueryFailedError(text, undefined, error);
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
    throw asEngineFailure(queryFailed(text, failure));
  }
}
