import { itemKey, type SagaGraph } from '../definition/graph/saga-graph.js';
import { graphOf, stepOf } from '../../../../test/fixtures/graph-of.js';
import { permanentlyFailed } from '../engine/operate/operator-edits.js';
import { decide } from './decide.js';
import { evolve } from './evolve.js';
import type { SagaEvent } from './saga-event.js';
import { INITIAL, type SagaState, stepState } from './saga-state.js';

const failed = { error: { name: 'Error', message: 'no' }, retryable: false, now: 0, random: 0 };

const optional = { optional: true } as const;

function after(graph: SagaGraph, ...events: SagaEvent[]): SagaState {
  return events.reduce((state, event) => evolve(graph, state, event), INITIAL);
}

function start(step: string): SagaEvent {
  return { type: 'step-started', step };
}

function done(step: string): SagaEvent[] {
  return [start(step), { type: 'step-completed', step, result: `"${step}"`, now: 0 }];
}

function fails(step: string, { unknown = false } = {}): SagaEvent[] {
  const kind = unknown ? 'timeout' : 'rejected';
  return [start(step), { type: 'step-failed', step, kind, unknown, ...failed }];
}

function actionsOf(graph: SagaGraph, state: SagaState): string[] {
  return decide(graph, state, 0).actions.map(({ kind, key }) => `${kind} ${key}`);
}

describe('an optional step', () => {
  const trip = graphOf(
    stepOf('flight'),
    stepOf('car', { ...optional, after: ['flight'] }),
    stepOf('tickets', { after: ['car'] }),
  );

  it('that fails permanently lets the steps after it begin, and the saga complete', () => {
    const state = after(trip, ...done('flight'), ...fails('car'));
    expect(state).toMatchObject({ status: 'running' });
    expect(state.failure).toBeUndefined();
    expect(actionsOf(trip, state)).toEqual(['run tickets']);
    const last = done('tickets').reduce((known, event) => evolve(trip, known, event), state);
    expect(decide(trip, last, 0).settle).toBe('completed');
  });

  it('that may have taken effect is compensated while its dependents run', () => {
    const state = after(trip, ...done('flight'), ...fails('car', { unknown: true }));
    expect(actionsOf(trip, state).sort()).toEqual(['compensate car', 'run tickets']);
  });

  it('keeps the saga from completing until it is compensated', () => {
    const state = after(
      trip,
      ...done('flight'),
      ...fails('car', { unknown: true }),
      { type: 'compensation-started', step: 'car' },
      ...done('tickets'),
    );
    expect(decide(trip, state, 0)).toEqual({ actions: [] });
    const undone = evolve(trip, state, { type: 'compensation-completed', step: 'car' });
    expect(stepState(undone, 'car').status).toBe('compensated');
    expect(decide(trip, undone, 0).settle).toBe('completed');
  });

  it('that has retries left is retried first', () => {
    const error: SagaEvent = {
      ...{ type: 'step-failed', step: 'car', kind: 'error', unknown: false, ...failed },
      retryable: true,
    };
    const state = after(trip, ...done('flight'), start('car'), error);
    expect(stepState(state, 'car')).toMatchObject({ status: 'waiting' });
    expect(actionsOf(trip, state)).toEqual([]);
  });

  it('whose compensation fails permanently leaves the saga stuck there, and can be resolved', () => {
    const lost: SagaEvent = { type: 'compensation-failed', step: 'car', ...failed };
    const state = after(
      trip,
      ...done('flight'),
      ...fails('car', { unknown: true }),
      { type: 'compensation-started', step: 'car' },
      lost,
      ...done('tickets'),
      { type: 'settled', status: 'stuck' },
    );
    expect(state).toMatchObject({ status: 'stuck', heldPhase: 'running' });
    expect(permanentlyFailed({ state }, trip)).toEqual(['car']);
    const resolved = evolve(trip, state, { type: 'operator-resolved', step: 'car' });
    expect(stepState(resolved, 'car').status).toBe('compensated');
    expect(decide(trip, resolved, 0).settle).toBe('completed');
  });

  it('is not tried again when an operator retries what failed after it', () => {
    const suspended = after(
      { ...trip, onFailure: 'suspend' },
      ...done('flight'),
      ...fails('car'),
      ...fails('tickets'),
      { type: 'settled', status: 'suspended' },
    );
    expect(permanentlyFailed({ state: suspended }, undefined)).toEqual(['tickets']);
    expect(evolve(trip, suspended, { type: 'retried', step: 'car' })).toBe(suspended);
    const retried = evolve(trip, suspended, { type: 'retried' });
    expect(actionsOf(trip, retried)).toEqual(['run tickets']);
    expect(stepState(retried, 'car')).toMatchObject({ status: 'failed', continued: true });
  });

  it('does not bring the saga back to a savepoint, nor make it stuck behind a pivot', () => {
    const graph = graphOf(
      stepOf('flight', { savepoint: { attempts: 2 } }),
      stepOf('pay', { after: ['flight'], pivot: true, compensate: undefined }),
      stepOf('car', { ...optional, after: ['pay'] }),
      stepOf('tickets', { after: ['car'] }),
    );
    const state = after(graph, ...done('flight'), ...done('pay'), ...fails('car', { unknown: true }));
    expect(state).toMatchObject({ status: 'running', round: 1 });
    expect(actionsOf(graph, state).sort()).toEqual(['compensate car', 'run tickets']);
  });

  it('is not compensated twice when the saga rolls back', () => {
    const state = after(
      trip,
      ...done('flight'),
      ...fails('car', { unknown: true }),
      { type: 'compensation-started', step: 'car' },
      { type: 'compensation-completed', step: 'car' },
      ...fails('tickets'),
    );
    expect(state.status).toBe('compensating');
    expect(actionsOf(trip, state)).toEqual(['compensate flight']);
  });

  it('is tried again in the next round, after a return to a savepoint before it', () => {
    const graph = graphOf(
      stepOf('flight', { savepoint: { attempts: 2 } }),
      stepOf('car', { ...optional, after: ['flight'] }),
      stepOf('tickets', { after: ['car'] }),
    );
    const state = after(graph, ...done('flight'), ...fails('car'), ...fails('tickets'), { type: 'resumed' });
    expect(state).toMatchObject({ status: 'running', round: 2 });
    expect(actionsOf(graph, state)).toEqual(['run car']);
  });

  it('does not win a race, which goes on without a winner if no other entry can', () => {
    const graph = graphOf(
      stepOf('north', optional),
      stepOf('south', optional),
      stepOf('pack', { after: ['north', 'south'], join: 'any' }),
    );
    const one = after(graph, ...fails('north'));
    expect(actionsOf(graph, one)).toEqual(['run south']);
    expect(actionsOf(graph, after(graph, ...fails('north'), ...fails('south')))).toEqual(['run pack']);
    const won = after(graph, ...fails('north'), ...done('south'));
    expect(stepState(won, 'pack').wonBy).toBe('south');
    expect(actionsOf(graph, won)).toEqual(['run pack']);
  });

  it('with items undoes those that completed when one fails, and the others do not begin', () => {
    const graph = graphOf(
      stepOf('ship', { ...optional, forEach: () => [], itemsAtOnce: 2 }),
      stepOf('labels', { after: ['ship'] }),
    );
    const [first, second] = [itemKey('ship', 0), itemKey('ship', 1)];
    const items: SagaEvent = { type: 'fan-out-started', step: 'ship', items: ['1', '2', '3'] };
    const state = after(graph, items, ...done(first), ...fails(second));
    expect(actionsOf(graph, state).sort()).toEqual(['compensate ship[0]', 'run labels']);
    const undone = [
      { type: 'compensation-started', step: first },
      { type: 'compensation-completed', step: first },
      ...done('labels'),
    ] satisfies SagaEvent[];
    const last = undone.reduce((known, event) => evolve(graph, known, event), state);
    expect(stepState(last, 'ship').status).toBe('compensated');
    expect(decide(graph, last, 0).settle).toBe('completed');
  });

  it('that waits lets the saga continue when its signal does not come in time, or is refused', () => {
    const graph = graphOf(
      stepOf('ask', { ...optional, kind: 'signal', wait: { signal: 'x', timeout: 50 } }),
      stepOf('go', { after: ['ask'] }),
    );
    const expired = after(
      graph,
      { type: 'wait-started', step: 'ask', now: 0 },
      { type: 'wait-expired', step: 'ask', now: 50 },
    );
    expect(stepState(expired, 'ask')).toMatchObject({ status: 'failed', continued: true });
    expect(actionsOf(graph, expired)).toEqual(['run go']);
  });
});
