import type { SagaGraph } from '../../definition/graph/saga-graph.js';
import { concurrencyLimits } from './concurrency-limits.js';

const graph = (name: string, version: number, concurrency?: number): SagaGraph => ({
  ...{ name, version, concurrency, onFailure: 'compensate', steps: new Map() },
});

describe('the limits of several versions', () => {
  test('are those of the highest, also where that has none', () => {
    const graphs = [graph('a', 2, 5), graph('a', 1, 9), graph('b', 1, 3), graph('b', 2), graph('c', 1)];
    expect([...concurrencyLimits(graphs)]).toEqual([['a', { count: 5, keyed: false }]]);
  });
});
