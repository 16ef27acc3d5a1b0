import type { EntityManager, QueryRunner } from 'typeorm';
import { SagaTransactionError } from '../../../errors.js';
import { type GivenTransaction, sendOn, transactionEnded } from '../connection/client-transaction.js';
import type { PgClient } from '../connection/pg-types.js';
import type { JoinedTransaction } from '../connection/saga-database.js';
import { asEngineFailure } from '../connection/transient-errors.js';
import { typeOrm } from './typeorm-package.js';

/**
 * The engine's statements in a transaction of a TypeORM EntityManager. What they answer is read by the engine's own
 * parsers, whatever parsers the application has, and what they are given is in no log and no error.
 */
export class TypeOrmTransaction implements JoinedTransaction {
  constructor(
    private readonly manager: EntityManager,
    private readonly given: GivenTransaction,
  ) {}

  async query<Rows = unknown>(text: string, parameters?: unknown[]): Promise<Rows> {
    const { queryRunner, connection } = this.manager as Partial<EntityManager>;
    if (queryRunner) return send<Rows>(queryRunner, this.given, text, parameters);
    if (connection)
      throw new SagaTransactionError(
        `The EntityManager that was given is in no transaction. ${this.given.fix}`,
      );
    // Whatever has a query() is taken for a transaction: one that is no TypeORM's goes by its own parsers.
    return this.manager.query<Rows>(text, parameters);
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

async function send<Rows>(
  runner: QueryRunner,
  given: GivenTransaction,
  text: string,
  parameters?: unknown[],
): Promise<Rows> {
  if (runner.isReleased) throw transactionEnded(given.fix);
  const client = (await runner.connect()) as PgClient;
  const { logger } = runner.connection;
  logger.logQuery(text, undefined, runner);
  try {
    return await sendOn<Rows>(client, given, text, parameters);
  } catch (error) {
    if (error instanceof SagaTransactionError) throw error;
    const failure = error as Error;
    logger.logQueryError(failure, text, undefined, runner);
    throw asEngineFailure(queryFailed(text, failure));
  }
}
