import type { SagaGraph } from '../../definition/graph/saga-graph.js';
import { graphOf, stepOf } from '../../../../../test/fixtures/graph-of.js';
import { stateOf } from '../../../../../test/fixtures/state-of.js';
import { RunRecord } from './run-record.js';

describe('a step whose worker was lost is recorded before the next one begins', () => {
  const booking = { after: [], idempotent: false, compensate: 'cancel' };

  /** The run of the worker that takes over, of a saga with `book` in progress. */
  function takenOver(graph: SagaGraph, stored: string): RunRecord {
    const record = new RunRecord(graph, stateOf('running', stored), () => 0);
    record.apply({ type: 'taken-over', count: 1, bound: 9, now: 0 });
    record.begin();
    return record;
  }

  test('if the saga continues without it, since it is optional', () => {
    const graph = graphOf(
      stepOf('book', { ...booking, optional: true }),
      stepOf('ship', { after: ['book'] }),
    );
    const record = takenOver(graph, 'book=running');
    expect(record.state.steps.get('book')!.continued).toBe(true);
    expect(record.hasNews).toBe(true);
  });

  test('if the saga continues with what is left of a join any', () => {
    const graph = graphOf(
      stepOf('ask', { after: [] }),
      stepOf('book', booking),
      stepOf('ship', { after: ['ask', 'book'], join: 'any' }),
    );
    const record = takenOver(graph, 'ask=skipped book=running');
    expect(record.state.steps.get('book')!.pruned).toBe(true);
    expect(record.hasNews).toBe(true);
  });

  test('and not if its next attempt begins, which any worker would derive', () => {
    const graph = graphOf(
      stepOf('book', { ...booking, idempotent: true }),
      stepOf('ship', { after: ['book'] }),
    );
    expect(takenOver(graph, 'book=running').hasNews).toBe(false);
  });
});

test('a slot that comes while a transaction settles the saga is not recorded: the lease is given back with it', () => {
  const graph = graphOf(stepOf('book', { transactional: true }), stepOf('ship', { limit: { count: 1 } }));
  const record = new RunRecord(graph, stateOf('running', 'book=running'), () => 0);
  record.apply({ type: 'slot-awaited', step: 'ship', now: 0 });
  const { state } = record.stage({ type: 'step-completed', step: 'book', result: '1', now: 0 });
  record.apply({ type: 'slot-granted', step: 'ship' });
  record.adopt({ ...state, status: 'stuck' });
  expect(record.isSaved).toBe(true);
});
