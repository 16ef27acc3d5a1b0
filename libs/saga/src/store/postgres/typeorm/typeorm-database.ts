import type { DataSource, EntityManager, QueryRunner } from 'typeorm';
import { SagaConfigurationError } from '../../../errors.js';
import type { GivenTransaction } from '../connection/client-transaction.js';
import { EngineSql } from '../connection/engine-sql.js';
import { DATA_SOURCE, MANAGER, nameOfLayer, wrongTransaction } from '../connection/name-of-layer.js';
import type { PgClient, PgPool } from '../connection/pg-types.js';
import type {
  DatabaseSession,
  JoinedTransaction,
  TransactionOpener,
  SagaDatabase,
  StatementLogger,
} from '../connection/saga-database.js';
import { TransactionWatch } from '../connection/transaction-watch.js';
import { SagaInstance, SagaStep } from '../schema/saga-row.js';
import type { SagaTables } from '../saga-tables.js';
import { sagaInstanceRepository } from './saga-instance-repository.js';
import { sagaStepRepository } from './saga-step-repository.js';
import { queryFailed, TypeOrmTransaction } from './typeorm-transaction.js';

/** A TypeORM DataSource of the application, whose connections and transactions sagas share. */
export class TypeOrmDatabase implements SagaDatabase<EntityManager> {
  readonly name = 'TypeORM';
  readonly poolSetting = 'poolSize of TypeOrmModule.forRoot()';
  readonly pool: PgPool;
  readonly logger: StatementLogger;
  private readonly given: GivenTransaction;

  constructor(private readonly application: DataSource) {
    this.pool = poolOf(application);
    this.logger = new TypeOrmLogger(application);
    this.given = { pool: this.pool, fix: TRANSACTION_FIX };
    TransactionWatch.onAll(this.pool);
  }

  session(): DatabaseSession<EntityManager> {
    return new TypeOrmSession(this.application.createQueryRunner());
  }

  /** The repositories in which sagas and the records of their steps are stored. */
  repositories({ instances, steps }: SagaTables): SagaTables {
    return {
      instances: sagaInstanceRepository(this.application, instances, this.given),
      steps: sagaStepRepository(this.application, steps),
    };
  }

  join(transaction: unknown): JoinedTransaction {
    if (isManager(transaction)) return new TypeOrmTransaction(transaction, this.given);
    throw wrongTransaction(transaction, this.name, TRANSACTION_FIX);
  }

  opener(source: unknown): TransactionOpener<EntityManager> | undefined {
    if (!isManager(source) && nameOfLayer(source).what !== DATA_SOURCE) return undefined;
    const manager = source as EntityManager;
    return manager.queryRunner?.isTransactionActive ? undefined : (work) => manager.transaction(work);
  }

  /**
   * Requires that relations of the application's entities to those of sagas make no foreign keys: such a key
   * keeps retention from deleting sagas.
   * @throws SagaConfigurationError if `synchronize` or `migration:generate` would make one
   */
  requireSchema(): void {
    const keys = this.application.entityMetadatas.flatMap(({ foreignKeys }) => foreignKeys);
    const key = keys.find(({ referencedEntityMetadata: { target } }) => OURS.has(target));
    if (!key) return;
    const { entityMetadata, referencedEntityMetadata, columns } = key;
    const property = columns[0]?.relationMetadata?.propertyName ?? key.columnNames.join(', ');
    throw new SagaConfigurationError(
      `${entityMetadata.name}.${property} makes a foreign key to the table of ${referencedEntityMetadata.name}, which keeps ` +
        `sagas from being deleted. Add createForeignKeyConstraints: false to the options of this relation, and drop the ` +
        `constraint if it was created.`,
    );
  }

  managerOf(transaction: EntityManager): EntityManager {
    return transaction;
  }

  failure(text: string, error: Error): Error {
    return queryFailed(text, error);
  }
}

const OURS: ReadonlySet<unknown> = new Set([SagaInstance, SagaStep]);

const TRANSACTION_FIX = 'Give the EntityManager of dataSource.transaction(async (manager) => …).';

/** Whatever has a query() is taken for one, unless it is known to be something else. */
function isManager(given: unknown): given is EntityManager {
  if (typeof given !== 'object' || given === null) return false;
  try {
    if ('queryRunner' in given && 'getRepository' in given) return true;
    if (typeof (given as Partial<EntityManager>).query !== 'function') return false;
    const { what, adapter } = nameOfLayer(given);
    return adapter === undefined || what === MANAGER;
  } catch {
    return false;
  }
}

/** The engine's own statements over the pool of an application's DataSource. */
export function sqlOf(application: DataSource): EngineSql {
  return new EngineSql(new TypeOrmDatabase(application));
}

/** The application's connection pool, which the saga tables share. */
function poolOf(application: DataSource): PgPool {
  const pool = (application.driver as unknown as { master?: PgPool }).master;
  if (application.options.type !== 'postgres' || !pool) {
    throw new SagaConfigurationError(
      `SagaModule keeps sagas in PostgreSQL, but the application's DataSource is of type ` +
        `'${application.options.type}'${pool ? '' : ', and not connected'}. Give the name of a PostgreSQL DataSource as ` +
        `SagaModule.forRoot({ dataSource: '…' }).`,
    );
  }
  return pool;
}

class TypeOrmSession implements DatabaseSession<EntityManager> {
  constructor(private readonly runner: QueryRunner) {}

  get transaction(): EntityManager {
    return this.runner.manager;
  }

  connect(): Promise<PgClient> {
    return this.runner.connect() as Promise<PgClient>;
  }

  begin(): Promise<void> {
    return this.runner.startTransaction();
  }

  commit(): Promise<void> {
    return this.runner.commitTransaction();
  }

  rollback(): Promise<void> {
    return this.runner.rollbackTransaction();
  }

  release(): Promise<void> {
    return this.runner.release();
  }
}

/** The application's logger, which receives the text of the engine's statements, and nothing that they are given. */
class TypeOrmLogger implements StatementLogger {
  readonly slowAfter: number | undefined;

  constructor(private readonly application: DataSource) {
    this.slowAfter = application.options.maxQueryExecutionTime || undefined;
  }

  logQuery(text: string): void {
    this.application.logger.logQuery(text);
  }

  logQueryError(error: Error, text: string): void {
    this.application.logger.logQueryError(error, text);
  }

  logQuerySlow(time: number, text: string): void {
    this.application.logger.logQuerySlow(time, text);
  }

  logMigration(message: string): void {
    // As TypeORM's own migrations do: its default logger prints what logMigration() is given.
    this.application.logger.logSchemaBuild(message);
  }
}
