import { hostname } from 'node:os';
import { randomUUID } from 'node:crypto';
import type { OperatorRules } from '../definition/describe/graph-record.js';
import type { GraphStore } from '../engine/ports/graph-store.js';
import type { EngineLog } from '../engine/ports/engine-log.js';
import type { RunnableSaga } from '../engine/ports/invoker.js';
import type { SagaObservers } from '../engine/observe/saga-observers.js';
import type { EngineOptions } from '../engine/engine-options.js';
import type { SagaEngine } from '../engine/saga-engine.js';
import { agreeOnGraphs } from '../engine/versions/agree-on-graphs.js';
import { SagaUpgrades } from '../engine/versions/saga-upgrades.js';
import { codedSagaStore } from '../store/coded/coded-saga-store.js';
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
import { partitionedNeeds, SAGA_NEEDS } from '../store/postgres/setup/needs.js';
import { prepareTables } from '../store/postgres/setup/migrate.js';
import { requireConnections } from '../store/postgres/setup/require-connections.js';
import { assembleEngine, type ServiceParts } from './assemble-engine.js';
import type { SagaRegistry } from './discovery/saga.registry.js';
import { SagaCleanup } from './maintenance/saga.cleanup.js';
import { SagaPartitions } from './maintenance/saga.partitions.js';
import type { SagaPoller } from './maintenance/saga.poller.js';
import type { ResolvedSagaOptions } from './saga.options.js';
import { listOnStandby } from './standby-reads.js';

/** What the databases of a process share. */
export interface ProcessParts {
  readonly options: ResolvedSagaOptions;
  readonly registry: SagaRegistry;
  /** The sagas that the worker runs. */
  readonly runnable: readonly RunnableSaga[];
  readonly observers: SagaObservers;
  readonly poller: Pick<SagaPoller, 'start' | 'stop'>;
  readonly log: EngineLog;
}

/** What a process uses of a database. */
export interface DatabaseServices extends ServiceParts {
  readonly engine: SagaEngine;
  readonly database: SagaDatabase;
  readonly upgrades: SagaUpgrades;
  readonly cleanup: SagaCleanup;
  readonly partitions: SagaPartitions;
  /** The outcome of sagas, over time. */
  readonly rates: PostgresRates;
}

/**
 * How long (ms) the engine waits for an answer of PostgreSQL: short enough for a renewal that hangs to be made again
 * within the lease, long enough not to take a busy server for a dead one.
 */
export function answerPatience(lease: number): number {
  return Math.max(1_000, lease / 3);
}

/** What those have to know who operate sagas without these options. */
function operatorRules({ approvals, codec }: ResolvedSagaOptions): OperatorRules {
  return { ...(Object.keys(approvals).length > 0 && { approvals }), ...(codec && { coded: true }) };
}

/** Connects to a database, and prepares its tables. */
export async function preparedSql(
  database: SagaDatabase,
  { options, log }: Pick<ProcessParts, 'options' | 'log'>,
): Promise<EngineSql> {
  if (options.worker) requireConnections(database);
  const sql = new EngineSql(database);
  sql.watchdog.timeline.whenOff(({ message }) =>
    log.warn(
      `The server cannot tell its timeline (${message}), so that the promotion of a standby is not noticed: after a ` +
        'failover that loses commits, nothing is put back. Standbys are refused all the same.',
    ),
  );
  const needs = options.partitions ? partitionedNeeds(options.partitions) : SAGA_NEEDS;
  await prepareTables(sql, options, needs, log);
  return sql;
}

/** What an engine over PostgreSQL is made of. */
interface PostgresParts extends Omit<ProcessParts, 'observers'> {
  /** The engine's statements on the application's connections. */
  readonly sql: EngineSql;
  /** Answers instead of the primary where an answer may be a little old. */
  readonly standby?: Standby;
  readonly graphs: PostgresGraphStore;
  /** The name of this process among those of its host. */
  readonly processName: string;
  /** How long (ms) PostgreSQL may take for an answer. */
  readonly patience: number;
  readonly engine?: Pick<EngineOptions, 'clock' | 'observers' | 'checkEdit' | 'newId' | 'schedules'>;
  /** See SagaCleanup. */
  readonly grace?: () => number;
}

/** Makes what the services use, over tables of PostgreSQL that are migrated. */
export function postgresEngine(
  parts: PostgresParts,
): ServiceParts & { readonly engine: SagaEngine; readonly cleanup: SagaCleanup } {
  const { sql, options, registry, runnable, graphs, patience, standby, log } = parts;
  const { schema } = options;
  sql.watchdog.setStatementTimeout(patience);
  const notify = (channel: string, payload: string) =>
    sql.query('SELECT pg_notify($1, $2)', [channel, payload]);
  const engine = assembleEngine({
    store: codedSagaStore(new PostgresSagaStore(sql, schema), options.codec),
    wakeup: new ListenWakeup(sql.pool, wakeupChannel(schema), notify, log, patience),
    graphs,
    sagas: registry.all,
    runnable,
    definitions: registry,
    options: {
      ...options,
      ...parts.engine,
      workerId: `${hostname()}:${process.pid}:${parts.processName}`,
    },
    log,
  });
  const cleanup = new SagaCleanup(
    new PostgresCleanup(sql, schema),
    new FinishedIndex(sql, schema),
    registry,
    parts.poller,
    log,
    parts.grace,
    (statement) => engine.retrying(statement),
  );
  const stored: GraphStore['stored'] = (sagas) => engine.retrying(() => graphs.stored(sagas));
  return {
    ...{ engine, registry, options, graphs: { stored }, cleanup, database: sql.database },
    list: standby && listOnStandby(standby, options, engine),
  };
}

/** The engine over one database, and the maintenance of its tables, in the life of the application. */
export class DatabaseRuntime {
  private constructor(readonly parts: DatabaseServices) {}

  static async over(
    sql: EngineSql,
    shared: ProcessParts,
    engine: Pick<EngineOptions, 'newId' | 'schedules'> = {},
    standby?: Standby,
  ): Promise<DatabaseRuntime> {
    const { options, registry, runnable, observers, poller, log } = shared;
    const { schema } = options;
    const partitions = new SagaPartitions(
      new PostgresPartitions(sql, schema),
      registry.retentions,
      poller,
      log,
    );
    await partitions.prepare(options.partitions);
    const graphs = new PostgresGraphStore(sql, schema);
    await agreeOnGraphs(registry.all, graphs, options.onDrift, log, operatorRules(options));
    // Migrations, and graphs of many instances, may take their time; what comes now may not.
    const parts = postgresEngine({
      ...{ sql, standby, options, registry, runnable, graphs },
      ...{ patience: answerPatience(options.lease), processName: randomUUID().slice(0, 8) },
      ...{ engine: { ...engine, observers }, poller, grace: () => partitions.grace, log },
    });
    const runs = options.worker ? runnable.map(({ graph }) => graph) : [];
    return new DatabaseRuntime({
      ...{ ...parts, database: sql.database, partitions },
      upgrades: new SagaUpgrades(runs, graphs, parts.engine, log, options.pollInterval),
      rates: new PostgresRates(sql, schema),
    });
  }

  get waiters(): SagaEngine['waiters'] {
    return this.parts.engine.waiters;
  }

  async begin(): Promise<void> {
    const { engine, options, upgrades, cleanup, partitions } = this.parts;
    await engine.start();
    void upgrades.tick();
    if (!options.worker) return;
    cleanup.start();
    partitions.start();
  }

  /** The scheduled poll. */
  tick(): void {
    this.parts.engine.tick();
    void this.parts.upgrades.tick();
  }

  async drain(): Promise<void> {
    const { engine, upgrades, cleanup, partitions } = this.parts;
    await Promise.all([cleanup.stop(), partitions.stop(), upgrades.stop(), engine.drain()]);
  }

  /** Hands the sagas that run here over to another process or application. */
  async retire(): Promise<void> {
    await this.parts.engine.retire();
  }

  async close(): Promise<void> {
    await this.parts.engine.close();
  }
}
