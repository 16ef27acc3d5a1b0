import { hostname } from 'node:os';
import type { GraphStore } from '../engine/ports/graph-store.js';
import type { EngineLog } from '../engine/ports/engine-log.js';
import type { RunnableSaga } from '../engine/ports/invoker.js';
import type { EngineOptions } from '../engine/engine-options.js';
import type { SagaEngine } from '../engine/saga-engine.js';
import { codedSagaStore } from '../store/coded/coded-saga-store.js';
import { PostgresCleanup } from '../store/postgres/cleanup/postgres-cleanup.js';
import { ListenWakeup } from '../store/postgres/connection/listen-wakeup.js';
import type { EngineSql } from '../store/postgres/connection/engine-sql.js';
import { wakeupChannel } from '../store/postgres/connection/wakeup-channel.js';
import type { PostgresGraphStore } from '../store/postgres/postgres-graph-store.js';
import { PostgresSagaStore } from '../store/postgres/postgres-saga-store.js';
import type { Standby } from '../store/postgres/read/standby.js';
import { FinishedIndex } from '../store/postgres/setup/finished-index.js';
import { assembleEngine, type ServiceParts } from './assemble-engine.js';
import type { SagaRegistry } from './discovery/saga.registry.js';
import { SagaCleanup } from './maintenance/saga.cleanup.js';
import type { SagaPoller } from './maintenance/saga.poller.js';
import type { ResolvedSagaOptions } from './saga.options.js';
import { listOnStandby } from './standby-reads.js';

export interface PostgresParts {
  /** The engine's statements on the application's connections. */
  readonly sql: EngineSql;
  readonly options: ResolvedSagaOptions;
  /** Answers instead of the primary where an answer may be a little old. */
  readonly standby?: Standby;
  readonly registry: SagaRegistry;
  readonly graphs: PostgresGraphStore;
  /** The sagas that the worker runs. */
  readonly runnable: readonly RunnableSaga[];
  /** The name of this process among those of its host. */
  readonly processName: string;
  /** How long (ms) PostgreSQL may take for an answer. */
  readonly patience: number;
  readonly engine?: Pick<EngineOptions, 'clock' | 'observers' | 'checkEdit' | 'newId' | 'schedules'>;
  readonly poller: Pick<SagaPoller, 'start' | 'stop'>;
  /** See SagaCleanup. */
  readonly grace?: () => number;
  readonly log: EngineLog;
}

/** Makes what SagaService uses, over tables of PostgreSQL that are migrated. */
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
