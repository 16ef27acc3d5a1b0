import { hostname } from 'node:os';
import type { Type } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { graphOfDescription } from '../definition/describe/graph-of-description.js';
import type { OperatorRules } from '../definition/describe/graph-record.js';
import { handlerOf } from '../definition/options/handler-name.js';
import { type SagaGraph, sagaLabel } from '../definition/graph/saga-graph.js';
import { type Clock, systemClock } from '../shared/clock.js';
import type { EngineLog } from '../engine/ports/engine-log.js';
import type { StoredGraph } from '../engine/ports/graph-store.js';
import type { RunnableSaga } from '../engine/ports/invoker.js';
import { SagaBindings } from '../engine/versions/saga-bindings.js';
import { SagaEngine } from '../engine/saga-engine.js';
import { SagaUpgrades } from '../engine/versions/saga-upgrades.js';
import { SagaCleanup } from '../nest/maintenance/saga.cleanup.js';
import { withDefaults } from '../nest/saga.options.js';
import { type RegisteredSaga, SagaRegistry } from '../nest/discovery/saga.registry.js';
import type { SagaRuntime } from '../nest/saga.runtime.js';
import { SagaService } from '../nest/saga.service.js';
import { CodedSagaStore } from '../store/coded/coded-saga-store.js';
import type { PayloadCodec } from '../store/coded/payload-codec.js';
import { watchdogOf } from '../store/postgres/connection/statement-watchdog.js';
import { ListenWakeup } from '../store/postgres/connection/listen-wakeup.js';
import type { SagaMigrationsOptions } from '../store/postgres/schema/saga-migrations.js';
import { FinishedIndex } from '../store/postgres/setup/finished-index.js';
import { PostgresCleanup } from '../store/postgres/cleanup/postgres-cleanup.js';
import { missingParts } from '../store/postgres/setup/migrate.js';
import { PostgresGraphStore } from '../store/postgres/postgres-graph-store.js';
import { PostgresRates } from '../store/postgres/read/postgres-rates.js';
import { PostgresSagaStore } from '../store/postgres/postgres-saga-store.js';
import { createSagaDataSource, poolOf, sagaParts } from '../store/postgres/connection/saga-data-source.js';
import { DEFAULT_SCHEMA } from '../store/postgres/schema/saga-entities.js';
import { schemaFlaw } from '../store/postgres/connection/schema-name.js';
import { wakeupChannel } from '../store/postgres/connection/wakeup-channel.js';
import { readCodec } from './codec-option.js';
import type { DATABASE_OPTIONS, ValuesOf } from './command.js';
import { databaseUrl } from './database-url.js';
import type { Deployed, OperatorSession, OperatorsRunning, SAGA_OPTIONS } from './operator-session.js';
import type { Terminal } from './terminal.js';
import { CannotTell, UsageError } from './usage-error.js';

/** How long (ms) PostgreSQL may take for an answer. */
const PATIENCE = 10_000;

/**
 * The engine behind `operating()`, in a file of its own: it needs the packages of an application.
 * @param found the sagas of a module file, which have the functions that are not stored
 */
export async function operating<T>(
  where: ValuesOf<typeof SAGA_OPTIONS>,
  terminal: Terminal,
  work: (operated: OperatorSession) => Promise<T>,
  found: readonly RunnableSaga[] = [],
): Promise<T> {
  const codec = await readCodec(where);
  return onDatabase(where, terminal, async (dataSource, schema, application) => {
    const missing = await missingParts(dataSource, schema);
    if (missing.length > 0) throw notMigrated(schema, missing);
    const made = await engineOn(dataSource, schema, application, terminal, found, codec);
    const { running, deployed, sagas, isCoded } = made;
    const types = new Map(sagas.map(({ graph, type }) => [sagaLabel(graph), type]));
    try {
      // All that SagaService asks of its runtime, for the calls that commands make.
      const runtime = { ready: async () => running } as unknown as SagaRuntime;
      const typeOf = (saga: Deployed) => types.get(sagaLabel(saga))!;
      return await work({
        sagas: new SagaService(runtime),
        running,
        isCoded,
        deployed,
        typeOf,
      });
    } finally {
      await running.engine.stop();
    }
  });
}

/** @param work receives the DataSource of the saga tables, and the DataSource whose connections that one uses */
export async function onDatabase<T>(
  { url, schema = DEFAULT_SCHEMA, partitions }: ValuesOf<typeof DATABASE_OPTIONS> & SagaMigrationsOptions,
  terminal: Terminal,
  work: (dataSource: DataSource, schema: string, application: DataSource) => Promise<T>,
): Promise<T> {
  const database = databaseUrl(url, terminal);
  if (schemaFlaw(schema) !== undefined)
    throw new UsageError(
      `--schema '${schema}' is not a valid schema name. Give a lower-case name of letters, digits and _`,
    );
  const connection = { type: 'postgres', url: database, applicationName: 'saga' } as const;
  const application = await new DataSource({ ...connection, connectTimeoutMS: PATIENCE }).initialize();
  try {
    return await work(
      await createSagaDataSource(application, schema, sagaParts({ partitions })),
      schema,
      application,
    );
  } finally {
    await application.destroy();
  }
}

async function engineOn(
  dataSource: DataSource,
  schema: string,
  application: DataSource,
  terminal: Terminal,
  found: readonly RunnableSaga[],
  codec: PayloadCodec | undefined,
) {
  const pool = poolOf(application);
  watchdogOf(pool).setStatementTimeout(PATIENCE);
  const graphs = new PostgresGraphStore(dataSource, schema);
  const log = logTo(terminal);
  const stored = await graphs.newest();
  const deployed = stored.flatMap(describedOf);
  const sagas = deployed.map((saga) => standInOf(saga, found));
  const registry = new OperatorsRegistry(sagas, []);
  const { approvals, coded: isCoded } = rulesOf(stored);
  const options = withDefaults({ schema, worker: false, approvals, codec });
  const notify = (channel: string, payload: string) =>
    dataSource.query('SELECT pg_notify($1, $2)', [channel, payload]);
  const engine = new OperatorsEngine(
    new CodedSagaStore(new PostgresSagaStore(dataSource, schema, application), codec),
    new ListenWakeup(pool, wakeupChannel(schema), notify, log),
    [],
    registry,
    { ...options, workerId: `${hostname()}:${process.pid}:saga`, clock: await clockOf(dataSource) },
    log,
    new SagaBindings(registry.all, (versions) => graphs.stored(versions)),
  );
  const running: OperatorsRunning = {
    engine,
    registry,
    options,
    graphs,
    upgrades: new SagaUpgrades([], graphs, engine, log, options.pollInterval),
    rates: new PostgresRates(dataSource, schema),
    cleanup: new SagaCleanup(
      new PostgresCleanup(dataSource, schema),
      new FinishedIndex(dataSource, schema),
      registry,
      NO_POLLER,
      log,
    ),
  };
  return { running, deployed, sagas, isCoded };
}

/** Nothing is done by the clock here. */
const NO_POLLER = { start: () => undefined, stop: () => undefined };

/** An operator may start any version: the highest one that was ever deployed may have been taken back. */
class OperatorsRegistry extends SagaRegistry {
  override latest(type: Type): SagaGraph {
    return this.ofType(type).graph;
  }
}

/** An operator's machine may have another time than the database, and what a saga waits for goes by that one. */
async function clockOf(dataSource: DataSource): Promise<Clock> {
  const [{ now }] = await dataSource.query<[{ now: number }]>(
    'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now',
  );
  const ahead = now - Date.now();
  return { ...systemClock, wall: () => Date.now() + ahead };
}

/** Refuses an action on a saga whose graph is not known: it may have passed a point of no return. */
class OperatorsEngine extends SagaEngine {
  override edit(...[target, change]: Parameters<SagaEngine['edit']>): ReturnType<SagaEngine['edit']> {
    return super.edit(target, (saga, graph, now) => {
      if (!graph && handlerOf(saga.name) === undefined) {
        throw new CannotTell(
          `The graph of ${sagaLabel(saga)} is not stored, so the allowed actions on saga ${saga.id} are not known. ` +
            `Start an application that has this saga once, which stores the graph`,
          'SAGA_DEFINITION',
        );
      }
      return change(saga, graph, now);
    });
  }
}

/**
 * Applies the operator rules of the applications: the strictest rule that one of them has. The newest version of each
 * saga decides, because a rule of an older version may have been withdrawn.
 */
function rulesOf(
  stored: readonly StoredGraph[],
): Required<Omit<OperatorRules, 'coded'>> & { coded: boolean } {
  const newest = new Map(stored.map(({ name, graph }) => [name, graph.operators ?? {}]));
  const approvals: Record<string, number> = {};
  for (const { approvals: asked = {} } of newest.values()) {
    for (const [action, people] of Object.entries(asked))
      approvals[action] = Math.max(approvals[action] ?? 1, people);
  }
  return { approvals, coded: [...newest.values()].some(({ coded }) => coded) };
}

/** Those that were stored by a version of this package that did not describe them yet are as unknown as others. */
function describedOf({ name, version, graph }: StoredGraph): Deployed[] {
  return graph.about ? [{ name, version, graph, about: graph.about }] : [];
}

/** In the place of a class: its graph is all that operators need of it. */
function standInOf({ about, name, version }: Deployed, found: readonly RunnableSaga[]): RegisteredSaga {
  const own = found.find(({ graph }) => graph.name === name && graph.version === version)?.graph;
  const graph: SagaGraph = own ?? graphOfDescription(about);
  const invoke = () => {
    throw new Error('The command line runs no sagas');
  };
  return { type: class {}, instance: {}, graph, invoke };
}

function notMigrated(schema: string, missing: readonly string[]): CannotTell {
  return new CannotTell(
    missing.includes('instance')
      ? `Schema '${schema}' of this database has no tables of sagas. Start the application once, run saga migrate, or give another --schema`
      : `Schema '${schema}' lacks ${missing.join(', ')}: it was created by an earlier version. Run saga migrate to update it`,
    'SAGA_CONFIGURATION',
  );
}

/** Only what an operator has to know of: that the database keeps it waiting, say. */
function logTo(terminal: Terminal): EngineLog {
  const tell = (message: string) => terminal.error(message);
  return { debug: () => undefined, log: () => undefined, warn: tell, error: tell };
}
