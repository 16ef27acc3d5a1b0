import type { EngineLog } from '../engine/ports/engine-log.js';
import type { SagaBackend } from '../engine/ports/saga-backend.js';
import type { Wakeup } from '../engine/ports/wakeup.js';
import { PostgresCleanup } from '../store/postgres/cleanup/postgres-cleanup.js';
import { ListenWakeup } from '../store/postgres/connection/listen-wakeup.js';
import { wakeupChannel } from '../store/postgres/connection/schema-name.js';
import { PostgresSagaStore } from '../store/postgres/postgres-saga-store.js';
import { FinishedIndex } from '../store/postgres/setup/finished-index.js';
import { EngineSql } from '../store/postgres/connection/engine-sql.js';
import type { SagaDatabase } from '../store/postgres/connection/saga-database.js';
import { PostgresPartitions } from '../store/postgres/partitions/postgres-partitions.js';
import { PostgresGraphStore } from '../store/postgres/postgres-graph-store.js';
import { PostgresRates } from '../store/postgres/read/postgres-rates.js';
import type { Standby } from '../store/postgres/read/standby.js';
import { type Needs, partitionedNeeds, SAGA_NEEDS } from '../store/postgres/setup/needs.js';
import { prepareTables } from '../store/postgres/setup/migrate.js';
import { requireConnections } from '../store/postgres/setup/require-connections.js';
import {
  answerPatience,
  type RuntimeParts,
  EngineRuntime,
  newWorkerId,
  type ProcessParts,
  type RuntimeSetup,
} from './engine-runtime.js';
import { SagaPartitions } from './maintenance/saga.partitions.js';
import type { ResolvedSagaOptions } from './saga.options.js';
import { listOnStandby } from './standby-reads.js';

/** What a process uses of a database. */
export interface DatabaseServices extends RuntimeParts {
  readonly database: SagaDatabase;
  readonly partitions: SagaPartitions;
  /** The outcome of sagas, over time. */
  readonly rates: PostgresRates;
}

/** Connects to a database, and prepares the tables that an engine has in it. */
export async function preparedSql(
  database: SagaDatabase,
  { options, log }: Pick<ProcessParts, 'options' | 'log'>,
  needs: Needs = options.partitions ? partitionedNeeds(options.partitions) : SAGA_NEEDS,
): Promise<EngineSql> {
  if (options.worker) requireConnections(database);
  const sql = new EngineSql(database);
  sql.watchdog.timeline.whenOff(({ message }) =>
    log.warn(
      `The server cannot tell its timeline (${message}), so that the promotion of a standby is not noticed: after a ` +
        'failover that loses commits, nothing is put back. Standbys are refused all the same.',
    ),
  );
  await prepareTables(sql, options, needs, log);
  return sql;
}

/**
 * Hints between the processes that share a schema.
 * @param patience how long (ms) PostgreSQL may take for an answer
 */
export function hintsIn(
  sql: EngineSql,
  { schema }: Pick<ResolvedSagaOptions, 'schema'>,
  patience: number,
  log: EngineLog,
): Wakeup {
  const notify = (channel: string, payload: string) =>
    sql.query('SELECT pg_notify($1, $2)', [channel, payload]);
  return new ListenWakeup(sql.pool, wakeupChannel(schema), notify, log, patience);
}

/** Where the sagas of a database are. See `hintsIn`. */
export function postgresBackend(
  sql: EngineSql,
  options: Pick<ResolvedSagaOptions, 'schema'>,
  patience: number,
  log: EngineLog,
): SagaBackend {
  const { schema } = options;
  const [cleanup, index] = [new PostgresCleanup(sql, schema), new FinishedIndex(sql, schema)];
  return {
    store: new PostgresSagaStore(sql, schema),
    graphs: new PostgresGraphStore(sql, schema),
    wakeup: hintsIn(sql, options, patience, log),
    cleanup: {
      ready: (signal) => index.ensure(signal),
      batch: (batch) => cleanup.batch(batch),
      names: () => cleanup.names(),
    },
  };
}

/** The engine over one database, and the maintenance of its tables. */
export type DatabaseRuntime = EngineRuntime<DatabaseServices>;

export async function databaseRuntime(
  sql: EngineSql,
  shared: ProcessParts,
  engine: RuntimeSetup['engine'] = {},
  standby?: Standby,
): Promise<DatabaseRuntime> {
  const { options, registry, poller, log } = shared;
  const { schema } = options;
  const tables = new PostgresPartitions(sql, schema);
  const partitions = new SagaPartitions(tables, registry.retentions, poller, log);
  await partitions.prepare(options.partitions);
  const patience = answerPatience(options.lease);
  const backend = postgresBackend(sql, options, patience, log);
  const setup = {
    ...{ engine, workerId: newWorkerId(), maintenance: [partitions] },
    grace: () => partitions.grace,
  };
  const runtime = await EngineRuntime.over(backend, shared, setup, (parts) => ({
    ...{ ...parts, database: sql.database, partitions },
    list: standby && listOnStandby(standby, options, parts.engine),
    rates: new PostgresRates(sql, schema),
  }));
  // Migrations, and graphs of many instances, may take their time; what comes now may not.
  sql.watchdog.setStatementTimeout(patience);
  return runtime;
}
