import { buildSagaGraph } from './build-saga-graph.js';
import { problemsOf, sagaOf } from './saga-of.contract.js';

describe('the graph’s own options', () => {
  it('are by default none, and to compensate', () => {
    const graph = buildSagaGraph(sagaOf({ pay: {} }));
    expect(graph).toMatchObject({ onFailure: 'compensate' });
    expect([graph.timeout, graph.lockKey, graph.concurrency]).toEqual([undefined, undefined, undefined]);
  });

  it('are what the saga says', () => {
    const options = { timeout: '1h', onFailure: 'suspend', lockKey: () => 'key', concurrency: 3 };
    expect(buildSagaGraph(sagaOf({ pay: {} }, options))).toMatchObject({ ...options, timeout: 3_600_000 });
  });

  it.each<[string, object, RegExp]>([
    ['a timeout of 0', { timeout: 0 }, /@Saga timeout 0 would .*; leave it out for none/],
    ['a timeout that is no duration', { timeout: 'soon' }, /@Saga timeout: 'soon' is not a duration; give/],
    ['another onFailure', { onFailure: 'ignore' }, /@Saga onFailure is 'ignore'; give 'compensate' or 'susp/],
    ['a key that is no function', { lockKey: 'id' }, /@Saga lockKey is 'id'; give a function/],
    ['none at once', { concurrency: 0 }, /@Saga concurrency is 0; give a whole number from 1/],
    ['a part of one at once', { concurrency: 1.5 }, /@Saga concurrency is 1.5; give a whole number from 1/],
    ['endlessly many at once', { concurrency: Infinity }, /@Saga concurrency is Infinity; give a whole/],
  ])('are never %s', (_, options, mend) => {
    expect(problemsOf(sagaOf({ pay: {} }, options))).toMatch(mend);
  });
});
