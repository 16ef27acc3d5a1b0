import type { SagaGraph } from '../../definition/graph/saga-graph.js';
import { SagaValidationError } from '../../errors.js';
import { Later } from '../../shared/later.js';
import { withoutContext } from '../../shared/own-context.js';
import type { KeyContext } from '../../definition/types/contexts.js';
import { decodePayload } from './payload.js';
import { returnedKeyFlaw } from './storable-key.js';
import { serializeError } from './serialize-error.js';
import type { Tags } from './tags.js';

type StartTags = Tags | undefined;

/**
 * What the functions of a saga are given when it starts.
 * @param input in its stored form, which is what the saga's steps will be given
 */
export function startContext(input: string | undefined, tags: StartTags): KeyContext<unknown, undefined> {
  return { input: decodePayload(input), item: undefined, tags: { ...tags } };
}

/**
 * The key of a saga's semantic lock, which may arrive later; undefined: it has none.
 * @param input in its stored form, which is what the saga's steps will be given
 * @throws SagaValidationError when the saga's function throws, or gives no key
 */
export async function lockKeyOf(
  graph: SagaGraph,
  input: string | undefined,
  tags: StartTags,
): Promise<string | undefined> {
  const { lockKey } = graph;
  if (!lockKey) return undefined;
  let key: unknown;
  try {
    key = withoutContext(() => lockKey(startContext(input, tags)));
    if (key instanceof Later) key = await key.answer;
  } catch (error) {
    throw refusalOf(graph, 'lockKey', error);
  }
  return checkedKey(graph, 'lockKey', key);
}

/**
 * The key of a saga's limit; undefined: it has none. Later changes of the input leave it as it is.
 * @param input in its stored form
 * @throws SagaValidationError when the saga's function throws, or gives no key
 */
export function limitKeyOf(graph: SagaGraph, input: string | undefined, tags: StartTags): string | undefined {
  const key = graph.limit?.key;
  return key && keyOf(graph, 'limit.key', () => key(startContext(input, tags)));
}

/**
 * Refuses an input for which the rate limit of a saga has no key. The key itself is asked when the saga may begin.
 * @param input in its stored form
 * @throws SagaValidationError when the saga's function throws, or gives no key
 */
export function checkRateKey(graph: SagaGraph, input: string | undefined, tags: StartTags): void {
  const key = graph.rateLimit?.key;
  if (key) keyOf(graph, 'rateLimit.key', () => key(startContext(input, tags)));
}

function keyOf(graph: SagaGraph, what: string, call: () => unknown): string {
  let key: unknown;
  try {
    key = withoutContext(call);
  } catch (error) {
    throw refusalOf(graph, what, error);
  }
  return checkedKey(graph, what, key);
}

function checkedKey({ name }: SagaGraph, what: string, key: unknown): string {
  const flaw = returnedKeyFlaw(key);
  if (flaw === undefined) return key as string;
  throw new SagaValidationError(`start(): ${what} of saga '${name}' ${flaw}.`);
}

function refusalOf({ name }: SagaGraph, what: string, error: unknown): SagaValidationError {
  return new SagaValidationError(
    `start(): ${what} of saga '${name}' threw: ${serializeError(error).message}. ` +
      `Make it return a key for every input, or validate the input with @Saga({ input }).`,
    { cause: error },
  );
}
