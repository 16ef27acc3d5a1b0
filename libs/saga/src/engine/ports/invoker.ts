import type { SagaGraph } from '../../definition/graph/saga-graph.js';

/** Calls a method of a saga's class with its context, and with what it waited for. */
export type Invoker = (method: string, context: object, payload?: unknown) => unknown;

/** A saga that this process can run. */
export interface RunnableSaga {
  readonly graph: SagaGraph;
  readonly invoke: Invoker;
  /** The methods of its class that are no steps; default: the compensations that its graph names. */
  readonly methods?: ReadonlySet<string>;
}

/**
 * Calls a method of a saga in the asynchronous context that the application has for the tags of the saga, and returns
 * what the method returns.
 */
export type MethodContext = <T>(tags: Readonly<Record<string, string>>, method: () => T) => T;
