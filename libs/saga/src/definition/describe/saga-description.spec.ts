import fc from 'fast-check';
import { graphOf, sequenceOf, stepOf } from '../../../../../test/fixtures/graph-of.js';
import { resolveRetryPolicy } from '../options/retry-policy.js';
import { descriptionOf, type StepDescription } from './saga-description.js';
import { Saga } from '../decorators/saga.decorator.js';
import type { SagaGraph } from '../graph/saga-graph.js';
import { Step } from '../decorators/step.decorator.js';

const optional = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });

const graphs: fc.Arbitrary<SagaGraph> = fc
  .array(
    fc.record({
      after: fc.array(fc.nat(), { maxLength: 3 }),
      join: fc.constantFrom('all' as const, 'any' as const),
      when: optional(fc.constant(() => true)),
      forEach: optional(fc.constant(() => [1])),
      delay: optional(fc.nat()),
      timeout: optional(fc.nat()),
      compensate: optional(fc.string()),
      probe: optional(fc.string()),
      savepoint: optional(fc.record({ attempts: fc.integer({ min: 1, max: 9 }) })),
      pivot: fc.boolean(),
      rateLimit: optional(fc.record({ count: fc.nat(), per: fc.nat() })),
      retry: fc.constantFrom(
        resolveRetryPolicy({ attempts: 1 }),
        resolveRetryPolicy({ attempts: 2, retryIf: () => false }),
      ),
    }),
    { minLength: 1, maxLength: 8 },
  )
  .map((parts) =>
    graphOf(
      ...parts.map((part, index) =>
        stepOf(`s${index}`, {
          ...part,
          after: index === 0 ? [] : part.after.map((pick) => `s${pick % index}`),
        }),
      ),
    ),
  );

function stepDescription(graph: SagaGraph, name: string): StepDescription {
  return descriptionOf(graph).steps.find((step) => step.name === name)!;
}

describe('the description of a graph', () => {
  it('comes out of JSON as it went in, whatever the graph has', () => {
    fc.assert(
      fc.property(graphs, (graph) => {
        const description = descriptionOf(graph);
        expect(JSON.parse(JSON.stringify(description))).toStrictEqual(description);
      }),
    );
  });

  it('has every step after those that it waits for, and an edge for each of these', () => {
    fc.assert(
      fc.property(graphs, (graph) => {
        const { steps, edges } = descriptionOf(graph);
        const places = new Map(steps.map(({ name }, place) => [name, place]));
        expect([...places.keys()].sort()).toEqual([...graph.steps.keys()].sort());
        for (const { from, to } of edges) expect(places.get(from)).toBeLessThan(places.get(to)!);
        for (const { name, after } of steps)
          expect(edges.filter(({ to }) => to === name).map(({ from }) => from)).toEqual(after);
      }),
    );
  });

  it('names a step that is waited for twice once', () => {
    const graph = graphOf(stepOf('a'), stepOf('b', { after: ['a', 'a'] }));
    expect(descriptionOf(graph).edges).toEqual([{ from: 'a', to: 'b', join: 'all' }]);
  });

  it('says of edges whether all or any of them are needed', () => {
    const graph = graphOf(
      stepOf('a'),
      stepOf('b'),
      stepOf('first', { after: ['a', 'b'], join: 'any' }),
      stepOf('last', { after: ['first'] }),
    );
    expect(descriptionOf(graph).edges).toEqual([
      { from: 'a', to: 'first', join: 'any' },
      { from: 'b', to: 'first', join: 'any' },
      { from: 'first', to: 'last', join: 'all' },
    ]);
  });

  it('shows functions as their being there', () => {
    const graph = graphOf(stepOf('a', { when: () => true, forEach: () => [], itemsAtOnce: 3 }), stepOf('b'));
    expect(stepDescription(graph, 'a')).toMatchObject({ conditional: true, forEach: true, itemsAtOnce: 3 });
    expect(stepDescription(graph, 'b')).toMatchObject({ conditional: false, forEach: false });
    expect(stepDescription(graph, 'b')).not.toHaveProperty('itemsAtOnce');
    expect(descriptionOf({ ...graph, lockKey: () => '' }).locked).toBe(true);
    expect(descriptionOf(graph).locked).toBe(false);
    expect(descriptionOf({ ...graph, input: class {} }).inputChecked).toBe(true);
    expect(descriptionOf(graph).inputChecked).toBe(false);
    expect(descriptionOf({ ...graph, limit: { count: 4 } }).limit).toEqual({ count: 4 });
    expect(descriptionOf(graph)).not.toHaveProperty('limit');
  });

  it('is the same whatever the durability: that is no part of what an instance goes by', () => {
    const graph = sequenceOf(stepOf('pay'));
    expect(descriptionOf({ ...graph, durability: 'relaxed' })).toEqual(descriptionOf(graph));
  });

  it('has what the saga and its steps were given', () => {
    const graph = {
      ...sequenceOf(
        stepOf('pay', {
          compensate: 'refund',
          delay: 5,
          savepoint: { attempts: 3 },
          pivot: true,
          probe: 'askBank',
          idempotent: false,
          compensateOnFailure: true,
          retry: resolveRetryPolicy({ attempts: 7, retryIf: () => true }),
          timeout: 9,
          rateLimit: { count: 10, per: 1000 },
        }),
      ),
      timeout: 60,
      onFailure: 'suspend' as const,
    };
    expect(descriptionOf(graph)).toMatchObject({
      name: 'test',
      version: 1,
      timeout: 60,
      onFailure: 'suspend',
    });
    expect(stepDescription(graph, 'pay')).toEqual({
      name: 'pay',
      kind: 'step',
      after: [],
      join: 'all',
      conditional: false,
      forEach: false,
      compensation: 'refund',
      delay: 5,
      savepoint: { attempts: 3 },
      pivot: true,
      probe: 'askBank',
      transactional: false,
      idempotent: false,
      compensateOnFailure: true,
      retry: { attempts: 7, delay: 200, factor: 2, maxDelay: 60_000, jitter: 0.2 },
      compensationRetry: { attempts: 2, delay: 100, factor: 2, maxDelay: 60_000, jitter: 0 },
      timeout: 9,
      rateLimit: { count: 10, per: 1000 },
    });
  });

  it('names the saga that a sub-saga step runs', () => {
    @Saga({ name: 'shipment' })
    class ShipmentSaga {
      @Step() pack() {}
    }
    const graph = graphOf(stepOf('ship', { kind: 'sub-saga', child: () => ShipmentSaga }));
    expect(stepDescription(graph, 'ship')).toMatchObject({ kind: 'sub-saga', child: 'shipment' });
  });
});
