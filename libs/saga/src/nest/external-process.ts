import { sagaLabel } from '../definition/graph/saga-graph.js';
import { relayedMessage } from '../engine/payload/outgoing-message.js';
import { SagaConfigurationError } from '../errors.js';
import { Coder } from '../store/coded/coder.js';
import { convertMessage } from '../store/coded/private-fields.js';
import { answerPatience, EngineRuntime, newWorkerId, type ProcessParts } from './engine-runtime.js';
import type { OwnEngine } from './external-engine.js';
import type { Running } from './running.js';

/**
 * Makes what a process uses whose sagas are in no database.
 * @throws SagaConfigurationError that names all that the engine cannot keep
 */
export async function externalProcess(engine: OwnEngine, shared: ProcessParts): Promise<Running> {
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
  const backend = await engine.open({
    ...{ worker: workerId, patience: answerPatience(options.lease), log },
    relayed: (message) => relayedMessage(convertMessage(message, decoding)),
  });
  const setup = { workerId, closed: () => backend.close() };
  const over = () => EngineRuntime.over(backend, shared, setup, (parts) => parts);
  const process = await backend.starting(over).catch(async (error: unknown) => {
    await backend.close();
    throw error;
  });
  return {
    ...{ ...process.parts, process },
    rates: async () => {
      throw new SagaConfigurationError(`${engine.name} keeps no figures of sagas over time.`);
    },
  };
}
