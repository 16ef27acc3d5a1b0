import { sagaLabel } from '../definition/graph/saga-graph.js';
import { relayedMessage } from '../engine/payload/outgoing-message.js';
import { SagaConfigurationError } from '../errors.js';
import { Coder } from '../store/coded/coder.js';
import { convertMessage } from '../store/coded/private-fields.js';
import type { SagaDatabase } from '../store/postgres/connection/saga-database.js';
import { hintsIn, preparedSql } from './database-runtime.js';
import { answerPatience, EngineRuntime, newWorkerId, type ProcessParts } from './engine-runtime.js';
import type { OwnEngine } from './external-engine.js';
import type { Running } from './running.js';

/**
 * Makes what a process uses whose sagas are in no database.
 * @param databaseOf finds the application's own database, which is used if an option names it, or a step is transactional
 * @throws SagaConfigurationError that names all that the engine cannot keep
 */
export async function externalProcess(
  engine: OwnEngine,
  shared: ProcessParts,
  databaseOf: () => SagaDatabase,
): Promise<Running> {
  const { registry, options, log } = shared;
  const problems = registry.all.flatMap(({ graph }) =>
    engine.refuses(graph).map((what) => `saga '${sagaLabel(graph)}' has ${what}`),
  );
  if (problems.length > 0)
    throw new SagaConfigurationError(
      `${engine.name} cannot keep everything that these sagas have: ${problems.join('; ')}. Remove it, or ` +
        `remove 'engine' from the options of SagaModule: PostgreSQL keeps it.`,
    );
  const workerId = newWorkerId();
  const { decoding } = new Coder(options.codec);
  const database = usedDatabase(engine, shared, databaseOf);
  const sql = database && (await preparedSql(database, shared, engine.needs));
  const patience = answerPatience(options.lease);
  sql?.watchdog.setStatementTimeout(patience);
  const backend = await engine.open({
    ...{ worker: workerId, patience, log },
    relayed: (message) => relayedMessage(convertMessage(message, decoding)),
    own: sql && { sql, schema: options.schema, wakeup: hintsIn(sql, options, patience, log) },
  });
  const setup = { workerId, closed: () => backend.close() };
  const over = () => EngineRuntime.over(backend, shared, setup, (parts) => parts);
  const process = await backend.starting(over).catch(async (error: unknown) => {
    await backend.close();
    throw error;
  });
  return {
    ...{ ...process.parts, process, database },
    rates: async () => {
      throw new SagaConfigurationError(`${engine.name} keeps no figures of sagas over time.`);
    },
  };
}

/** Undefined: nothing uses a database. */
function usedDatabase(
  { name }: OwnEngine,
  { options, registry }: ProcessParts,
  databaseOf: () => SagaDatabase,
): SagaDatabase | undefined {
  if (options.database !== undefined || options.dataSource !== undefined) return databaseOf();
  for (const { graph } of registry.all) {
    const step = [...graph.steps.values()].find(({ transactional }) => transactional);
    if (!step) continue;
    try {
      return databaseOf();
    } catch (error) {
      if (!(error instanceof SagaConfigurationError)) throw error;
      throw new SagaConfigurationError(
        `Step '${step.name}' of saga '${sagaLabel(graph)}' is transactional, for which ${name} needs the application's ` +
          `database. ${error.message}`,
      );
    }
  }
  return undefined;
}
