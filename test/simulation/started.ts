import type { SagaGraph } from '../../libs/saga/src/definition/graph/saga-graph.js';
import type { StartResult } from '../../libs/saga/src/engine/ports/saga-store.js';
import type { Start } from './scenario.js';
import type { Life } from './timeline.js';

/** The outcome of a start, as its caller received it. */
export interface Started {
  readonly start: Start;
  readonly id: string;
  result?: StartResult;
  failed?: string;
  /** The outcome that the waiter received. */
  outcome?: string;
  /** The process that waits for it. */
  waits?: Life;
}

/** The key of a simulated saga's lock: the functions of simulated sagas return it at once. Undefined: the saga has none. */
export function lockKeyNow({ lockKey }: SagaGraph, input: object): string | undefined {
  return lockKey?.({ input, item: undefined, tags: {} });
}
