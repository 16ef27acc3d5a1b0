import type { SagaGraph } from '../../definition/graph/saga-graph.js';
import { firstSteps } from '../../machine/describe-step.js';
import { lockKeyOf } from '../payload/lock-key.js';
import type { NewSaga } from '../ports/stored-saga.js';

/** What a new saga has of its definition and its input. */
type Derived = 'name' | 'version' | 'input' | 'lockKey' | 'timeout' | 'sla' | 'step';

/**
 * A saga of this graph, to be stored.
 * @param input JSON text
 * @throws SagaValidationError when its lockKey gives no key
 */
export function newSagaOf(
  graph: SagaGraph,
  input: string | undefined,
  given: Omit<NewSaga, Derived | 'leased'>,
): Omit<NewSaga, 'leased'> {
  return {
    ...given,
    name: graph.name,
    version: graph.version,
    input,
    lockKey: lockKeyOf(graph, input),
    timeout: graph.timeout,
    sla: graph.sla,
    step: firstSteps(graph),
  };
}
