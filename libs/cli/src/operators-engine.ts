import { randomUUID } from 'node:crypto';
import { SagaOperations, SagaSchedules, SagaService } from 'nestjs-durable-saga';
import type { PayloadCodec } from 'nestjs-durable-saga/encryption';
import {
  type Clock,
  type EngineLog,
  type OperatorRules,
  type RunnableSaga,
  type SagaGraph,
  type StoredGraph,
  type StoredSaga,
  graphOfDescription,
  handlerOf,
  sagaLabel,
  shown,
  systemClock,
} from 'nestjs-durable-saga/internal';
import {
  CODEC_RULE,
  ENGINE_RULE,
  type EngineProcess,
  EngineSql,
  type OwnEngine,
  PgDatabase,
  PostgresGraphStore,
  type RegisteredSaga,
  SagaRegistry,
  type ServiceParts,
  isCodec,
  isOwnEngine,
  missingParts,
  openPool,
  engineServices,
  hintsIn,
  postgresBackend,
  withDefaults,
} from 'nestjs-durable-saga/internal/runtime';
import { CannotTell, type DATABASE_OPTIONS, UsageError, type ValuesOf } from './command.js';
import { databaseUrl, schemaOf } from './database-options.js';
import type {
  CODEC_OPTION,
  Deployed,
  OperatorSession,
  PLACE_OPTIONS,
  SAGA_OPTIONS,
} from './operator-session.js';
import type { Terminal } from './terminal.js';
import { importFile } from './values.js';

/** How long (ms) PostgreSQL, or another engine, may take for an answer. */
export const PATIENCE = 10_000;
/** The name of this process among those that hints are sent to. */
const WORKER = `saga:${process.pid}:${randomUUID()}`;

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
  return onBackend(where, terminal, async (place) => {
    const made = await engineOn(place, terminal, found, codec);
    const { running, deployed, sagas, isCoded } = made;
    const types = new Map(sagas.map(({ graph, type }) => [sagaLabel(graph), type]));
    try {
      const typeOf = (saga: Deployed) => types.get(sagaLabel(saga))!;
      const runtime = { ready: async () => running };
      return await work({
        sagas: new SagaService(runtime),
        operations: new SagaOperations(runtime),
        schedules: new SagaSchedules(runtime),
        running,
        ...{ isCoded, codec, deployed, typeOf },
      });
    } finally {
      await running.engine.stop();
    }
  });
}

/** Where the sagas are. */
interface Place extends Pick<ServiceParts, 'database'> {
  readonly schema?: string;
  readonly graphs: Pick<PostgresGraphStore, 'newest' | 'exclusively'>;
  readonly clock: Clock;
  readonly backend: (options: ReturnType<typeof withDefaults>) => ReturnType<typeof postgresBackend>;
}

/** Opens the engine of `--engine`, or else a database. */
export async function onBackend<T>(
  where: ValuesOf<typeof PLACE_OPTIONS>,
  terminal: Terminal,
  work: (place: Place) => Promise<T>,
): Promise<T> {
  if (where.engine === undefined)
    return onMigratedDatabase(where, terminal, async (sql, schema) => {
      sql.watchdog.setStatementTimeout(PATIENCE);
      const log = logTo(terminal);
      return work({
        ...{ schema, database: sql.database, graphs: new PostgresGraphStore(sql, schema) },
        clock: await clockOf(sql),
        backend: (options) => postgresBackend(sql, options, PATIENCE, log),
      });
    });
  const { path, value: engine } = await importValue(where.engine);
  if (!isOwnEngine(engine)) throw new UsageError(`${path}: engine is ${shown(engine)}; ${ENGINE_RULE}`);
  const tool: EngineProcess = {
    ...{ worker: WORKER, patience: PATIENCE, log: logTo(terminal), onlyCalls: true },
    relayed: (message) => message,
  };
  const found = await onEngine(engine, tool, async (place) => {
    const stored = await place.graphs.newest();
    if (stored.some(({ graph }) => graph.steps.some((step) => step.transactional))) return undefined;
    return { result: await work(place) };
  });
  if (found) return found.result;
  // What such a step has committed, and the engine does not know yet, is in the applications' database.
  return onDatabase(where, terminal, async (sql, schema) => {
    const missing = await missingParts(sql, schema, engine.needs);
    if (missing.length > 0) throw notMigrated(schema, missing);
    sql.watchdog.setStatementTimeout(PATIENCE);
    const own = { sql, schema, wakeup: hintsIn(sql, { schema }, PATIENCE, tool.log) };
    return onEngine(engine, { ...tool, own }, work);
  });
}

async function onEngine<T>(
  engine: OwnEngine,
  tool: EngineProcess,
  work: (place: Place) => Promise<T>,
): Promise<T> {
  const backend = await engine.open(tool);
  try {
    return await work({ graphs: backend.graphs, clock: systemClock, backend: () => backend });
  } finally {
    await backend.close();
  }
}

/** @throws UsageError when the file is not there, or has no codec */
export async function readCodec({
  codec: file,
}: ValuesOf<typeof CODEC_OPTION>): Promise<PayloadCodec | undefined> {
  if (file === undefined) return undefined;
  const { path, value: codec } = await importValue(file);
  if (!isCodec(codec)) throw new UsageError(`${path}: codec is ${shown(codec)}; ${CODEC_RULE}`);
  return codec as PayloadCodec;
}

/** The default export of a file, or what that returns. */
async function importValue(file: string): Promise<{ readonly path: string; readonly value: unknown }> {
  const { path, exported: module } = await importFile(file);
  const { default: exported } = module;
  // Of CommonJS that was compiled from a module, the default export has one of its own.
  const given = (exported as { default?: unknown } | undefined)?.default ?? exported;
  const value: unknown = typeof given === 'function' ? await (given as () => unknown)() : given;
  if (value === undefined) throw new UsageError(`${path} has no default export`);
  return { path, value };
}

/** @param work receives what runs statements on the database, and the schema */
export async function onDatabase<T>(
  where: ValuesOf<typeof DATABASE_OPTIONS>,
  terminal: Terminal,
  work: (sql: EngineSql, schema: string) => Promise<T>,
): Promise<T> {
  const database = databaseUrl(where.url, terminal);
  const schema = schemaOf(where);
  const pool = openPool({
    ...{ connectionString: database, application_name: 'saga', connectionTimeoutMillis: PATIENCE },
  });
  try {
    return await work(new EngineSql(new PgDatabase(pool)), schema);
  } finally {
    await pool.end();
  }
}

/**
 * Opens an engine on a database that has the tables of sagas.
 * @throws CannotTell if it has not, or those of an earlier version
 */
export function onMigratedDatabase<T>(
  where: ValuesOf<typeof DATABASE_OPTIONS>,
  terminal: Terminal,
  work: (sql: EngineSql, schema: string) => Promise<T>,
): Promise<T> {
  return onDatabase(where, terminal, async (sql, schema) => {
    const missing = await missingParts(sql, schema);
    if (missing.length > 0) throw notMigrated(schema, missing);
    return work(sql, schema);
  });
}

async function engineOn(
  { schema, graphs, clock, database, backend }: Place,
  terminal: Terminal,
  found: readonly RunnableSaga[],
  codec: PayloadCodec | undefined,
) {
  const stored = await graphs.newest();
  const deployed = stored.flatMap(describedOf);
  const sagas = deployed.map((saga) => standInOf(saga, found));
  // An operator may start any version: the highest one that was ever deployed may have been taken back.
  const registry = new SagaRegistry(sagas, [], undefined, true);
  const { approvals, coded: isCoded } = rulesOf(stored);
  const options = withDefaults({ schema, worker: false, approvals, codec, recoveryWindow: false });
  const services = engineServices(backend(options), {
    ...{ registry, options, runnable: [], log: logTo(terminal) },
    engine: { workerId: WORKER, clock, checkEdit: requireGraph },
  });
  return { running: { ...services, database }, deployed, sagas, isCoded };
}

/** An operator's machine may have another time than the database, and what a saga waits for goes by that one. */
async function clockOf(sql: EngineSql): Promise<Clock> {
  const [{ now }] = await sql.query<[{ now: number }]>(
    'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now',
  );
  const ahead = now - Date.now();
  return { ...systemClock, wall: () => Date.now() + ahead };
}

/** Refuses an action on a saga whose graph is not known: it may have passed a point of no return. */
function requireGraph(saga: StoredSaga, graph: SagaGraph | undefined): void {
  if (graph || handlerOf(saga.name) !== undefined) return;
  throw new CannotTell(
    `The graph of ${sagaLabel(saga)} is not stored, so the allowed actions on saga ${saga.id} are not known. ` +
      `Start an application that has this saga once, which stores the graph`,
    'SAGA_DEFINITION',
  );
}

/**
 * Applies the operator rules of the applications: the strictest rule that one of them has. The newest version of each
 * saga decides, because a rule of an older version may have been withdrawn.
 */
export function rulesOf(
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

/** Graphs that were stored by a version of the library that did not describe them yet are as unknown as others. */
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
