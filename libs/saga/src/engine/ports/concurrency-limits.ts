import type { SagaGraph } from '../../definition/graph/saga-graph.js';

/** By name, how many sagas may be leased at once: of several versions the highest one says, also for the others. */
export function concurrencyLimits(graphs: readonly SagaGraph[]): ReadonlyMap<string, number> {
  const ascending = [...graphs].sort((a, b) => a.version - b.version);
  const latest = new Map(ascending.map(({ name, concurrency }) => [name, concurrency]));
  return new Map([...latest].flatMap(([name, limit]) => (limit === undefined ? [] : [[name, limit]])));
}
