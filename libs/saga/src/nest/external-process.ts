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
  const database = usesDatabase(shared) ? databaseOf() : undefined;
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

function usesDatabase({ options, registry }: ProcessParts): boolean {
  if (options.database !== undefined || options.dataSource !== undefined) return true;
  return registry.all.some(({ graph }) => [...graph.steps.values()].some((step) => step.transactional));
}
