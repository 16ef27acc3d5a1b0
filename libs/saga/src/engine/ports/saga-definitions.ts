import type { Type } from '@nestjs/common';
import type { SagaGraph } from '../../definition/graph/saga-graph.js';
import type { AwaitedSignals } from './saga-store.js';

/** The sagas that this process knows, whether it runs them or not. */
export interface SagaDefinitions {
  /** The signals that their steps wait for: others are refused. Default: none are. */
  readonly awaitedSignals?: AwaitedSignals;
  /** The graph on which new sagas of this class start: that of the highest version of its name. */
  latest(type: Type): SagaGraph;
  /**
   * An input as it is to be stored: checked by the graph's `input`, if it has one.
   * @throws SagaValidationError for a wrong one; with a `cause` if that could not be found out, and may be another time
   */
  checked(graph: SagaGraph, input: unknown): Promise<unknown>;
}
