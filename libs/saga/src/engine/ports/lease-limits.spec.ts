import type { SagaGraph } from '../../definition/graph/saga-graph.js';
import { leaseLimits } from './lease-limits.js';

const graph = (name: string, version: number, count?: number): SagaGraph => ({
  ...{ name, version, onFailure: 'compensate', steps: new Map() },
  limit: count === undefined ? undefined : { count },
});

describe('the limits of several versions', () => {
  test('are those of the highest, also where that has none', () => {
    const graphs = [graph('a', 2, 5), graph('a', 1, 9), graph('b', 1, 3), graph('b', 2), graph('c', 1)];
    expect([...leaseLimits(graphs)]).toEqual([['a', { count: 5, keyed: false }]]);
  });
});
