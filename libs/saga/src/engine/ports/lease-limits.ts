import type { SagaGraph } from '../../definition/graph/saga-graph.js';

/** How many sagas of a name may be leased at once. */
export interface LeaseLimit {
  readonly count: number;
  /** Each key has so many. */
  readonly keyed: boolean;
}

/** By name, how many sagas may be leased at once: of several versions the highest one says, also for the others. */
export function leaseLimits(graphs: readonly SagaGraph[]): ReadonlyMap<string, LeaseLimit> {
  const ascending = [...graphs].sort((a, b) => a.version - b.version);
  const latest = new Map(ascending.map((graph) => [graph.name, graph]));
  return new Map(
    [...latest].flatMap(([name, { limit }]) =>
      limit === undefined ? [] : [[name, { count: limit.count, keyed: limit.key !== undefined }]],
    ),
  );
}
