import type { SagaGraph } from '../../definition/graph/saga-graph.js';
import { SagaValidationError } from '../../errors.js';
import { shown } from '../../shared/shown-value.js';
import { ignoreRejection } from '../../shared/ignore-rejection.js';
import { decodePayload } from './payload.js';
import { serializeError } from './serialize-error.js';
import { isKey } from './storable-key.js';

const LONGEST_LOCK_KEY = 500;

/**
 * The key of a saga's semantic lock; undefined: it has none.
 * @param input in its stored form, which is what the saga's steps will be given
 * @throws SagaValidationError when the saga's function throws, or gives no key
 */
export function lockKeyOf(graph: SagaGraph, input: string | undefined): string | undefined {
  if (!graph.lockKey) return undefined;
  let key: unknown;
  try {
    key = graph.lockKey(decodePayload(input));
  } catch (error) {
    throw new SagaValidationError(
      `start(): lockKey of saga '${graph.name}' threw: ${serializeError(error).message}. ` +
        `Make it return a key for every input, or validate the input with @Saga({ input }).`,
      { cause: error },
    );
  }
  if (isKey(key, LONGEST_LOCK_KEY)) return key;
  ignoreRejection(key);
  const given = typeof key === 'string' ? `a string of ${key.length} characters` : shown(key);
  throw new SagaValidationError(
    `start(): lockKey of saga '${graph.name}' must synchronously return a string of 1 to ${LONGEST_LOCK_KEY} characters, without ` +
      `NUL or half surrogate pairs; it returned ${given}.`,
  );
}
