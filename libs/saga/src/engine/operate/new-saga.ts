import { timeReturned } from '../../definition/options/time-of.js';
import { SagaValidationError } from '../../errors.js';
import { serializeError } from '../payload/serialize-error.js';
import type { SagaGraph } from '../../definition/graph/saga-graph.js';
import { relationsOf } from '../../machine/graph-relations.js';
import { checkRateKey, limitKeyOf, startContext } from '../payload/start-keys.js';
import type { NewSaga } from '../ports/stored-saga.js';
import { withoutContext } from '../../shared/own-context.js';
import type { Parts } from '../../shared/parts.js';

/** What a new saga has of its definition and its input. */
type Derived = 'name' | 'version' | 'input' | 'lockKey' | 'limitKey' | 'timeout' | 'sla' | 'step';

/**
 * A saga of this graph, to be stored.
 * @param input JSON text
 * @param now milliseconds since the epoch, for times that are computed
 * @param lockKey undefined: it is asked now, and cannot arrive later
 * @throws SagaValidationError when its lockKey or the key of a limit returns no key, or its timeout or sla no time
 */
export function newSagaOf(
  graph: SagaGraph,
  input: string | undefined,
  given: Omit<NewSaga, Derived | 'leased'>,
  now: () => number,
  lockKey: string | undefined,
): Omit<NewSaga, 'leased'> {
  const { id, fresh, correlationId, priority, tags, delay, startAt, lockRejects } = given;
  checkRateKey(graph, input, tags);
  return {
    id,
    fresh,
    correlationId,
    priority,
    tags,
    delay,
    startAt,
    lockRejects,
    name: graph.name,
    version: graph.version,
    input,
    lockKey,
    limitKey: limitKeyOf(graph, input, tags),
    timeout: graph.timeoutOf ? computed(graph, 'timeout', input, given, now()) : graph.timeout,
    sla: graph.slaOf ? computed(graph, 'sla', input, given, now()) : graph.sla,
    step: relationsOf(graph).firstSteps,
  } satisfies Parts<Omit<NewSaga, 'leased'>>;
}

/** Milliseconds from when the saga may begin, at least one. */
function computed(
  graph: SagaGraph,
  what: 'timeout' | 'sla',
  input: string | undefined,
  { startAt, delay = 0, tags }: Pick<NewSaga, 'startAt' | 'delay' | 'tags'>,
  now: number,
): number {
  const begins = Math.max(now, startAt ?? now + delay);
  const of = what === 'timeout' ? graph.timeoutOf! : graph.slaOf!;
  try {
    const given = withoutContext(() => of(startContext(input, tags)));
    return Math.max(1, timeReturned(given, what, begins) - begins);
  } catch (error) {
    throw new SagaValidationError(
      `start(): ${what} of saga '${graph.name}' failed: ${serializeError(error).message}. ` +
        `Make it return a duration or a Date for every input, or validate the input with @Saga({ input }).`,
      { cause: error },
    );
  }
}
