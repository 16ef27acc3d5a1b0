import fc from 'fast-check';
import { fuzz } from '../../../../../test/fixtures/fuzz-settings.js';
import { decide } from '../../machine/decide.js';
import type { MachineDecision } from '../../machine/plan.js';
import { evolve } from '../../machine/evolve.js';
import { planRollback } from '../../machine/plan-rollback.js';
import { playGraph } from '../../../../../test/oracle/run-model.js';
import { randomGraphs } from '../../../../../test/oracle/random-graph.js';
import { graphOf, stepOf } from '../../../../../test/fixtures/graph-of.js';
import type { SagaEvent } from '../../machine/saga-event.js';
import { INITIAL, type SagaState } from '../../machine/saga-state.js';
import { graphOfDescription } from './graph-of-description.js';
import { descriptionOf, type SagaDescription } from './saga-description.js';
import type { SagaGraph } from '../graph/saga-graph.js';
import type { StandardSchema } from '../types/standard-schema.js';

const OPERATORS: SagaEvent[] = [
  { type: 'cancelled', reason: 'enough' },
  { type: 'aborted' },
  { type: 'undone' },
  { type: 'retried' },
];

function stored(graph: SagaGraph): SagaDescription {
  return JSON.parse(JSON.stringify(descriptionOf(graph))) as SagaDescription;
}

/** Without the nodes, whose functions are not the same. */
function plain({ actions, ...decision }: MachineDecision): object {
  return { ...decision, actions: actions.map(({ kind, key, index }) => ({ kind, key, index })) };
}

/** All that is decided about a saga in this state. */
function decided(graph: SagaGraph, state: SagaState): object[] {
  const { compensations, ...rollback } = planRollback(graph, state);
  return [
    plain(decide(graph, state, 1e15)),
    plain(decide(graph, state, 0)),
    { ...rollback, compensations: compensations.map(({ key, child }) => ({ key, child })) },
    ...OPERATORS.map((event) => evolve(graph, state, event)),
  ];
}

describe('the graph that is made of a stored description', () => {
  it('decides as the graph of the class does, wherever a saga stands', () => {
    fc.assert(
      fc.property(randomGraphs, (saga) => {
        const made = graphOfDescription(stored(saga.graph));
        const states = playGraph(saga).entries.flatMap((entry) =>
          entry.type === 'event' ? [entry.after] : [],
        );
        for (const state of [INITIAL, ...states])
          expect(decided(made, state)).toEqual(decided(saga.graph, state));
      }),
      fuzz(30),
    );
  });

  it('is described as it was', () => {
    const graph: SagaGraph = {
      ...graphOf(
        stepOf('reserve', {
          savepoint: { attempts: 3 },
          delay: 5,
          timeout: 9,
          idempotent: false,
          probe: 'ask',
        }),
        stepOf('ship', { after: ['reserve'], when: () => true, forEach: () => [], itemsAtOnce: 4 }),
        stepOf('paid', { kind: 'signal', wait: { signal: 'paid', timeout: 60 } }),
        stepOf('agreed', { kind: 'approval', wait: { signal: 'approval:agreed' }, pivot: true }),
        stepOf('stock', { kind: 'remote', remote: { name: 'stock.reserve', version: 2 } }),
        stepOf('parcel', { kind: 'sub-saga', childName: 'parcel' }),
        stepOf('first', { after: ['paid', 'agreed'], join: 'any', rateLimit: { count: 3, per: 1_000 } }),
      ),
      timeout: 1_000,
      sla: 500,
      onFailure: 'suspend',
      limit: { count: 7 },
      redact: ['card.number'],
      lockKey: () => 'key',
      input: class {},
    };
    expect(descriptionOf(graphOfDescription(stored(graph)))).toEqual(descriptionOf(graph));
  });

  it('has an input check that nothing passes', () => {
    const { input } = graphOfDescription(stored({ ...graphOf(stepOf('ship')), input: class {} }));
    expect(() => (input as StandardSchema)['~standard'].validate({})).toThrow(
      /which this process does not have/,
    );
  });

  it('has functions that cannot be called', () => {
    const graph = graphOfDescription(
      stored({ ...graphOf(stepOf('ship', { when: () => true, forEach: () => [] })), lockKey: () => 'key' }),
    );
    const { when, forEach } = graph.steps.get('ship')!;
    const called = expect.objectContaining({
      message: expect.stringContaining('which this process does not have'),
    });
    for (const call of [when, forEach, graph.lockKey])
      expect(() => (call as (given: unknown) => unknown)({})).toThrow(called);
  });
});
