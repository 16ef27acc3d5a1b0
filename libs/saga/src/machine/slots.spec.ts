import type { StepNode } from '../definition/graph/saga-graph.js';
import { graphOf, sequenceOf, stepOf } from '../../../../test/fixtures/graph-of.js';
import { decide } from './decide.js';
import { evolve } from './evolve.js';
import type { SagaEvent } from './saga-event.js';
import { INITIAL, type SagaState, stepState } from './saga-state.js';

const limit: StepNode['limit'] = { count: 2 };
const graph = sequenceOf(stepOf('before'), stepOf('work', { limit }));
const begun = after(graph, INITIAL, { type: 'step-started', step: 'before' }, done('before'));
const queued = after(graph, begun, { type: 'slot-awaited', step: 'work', key: 'a', now: 7 });
const failed = {
  error: { name: 'Error', message: 'no' },
  kind: 'error',
  unknown: false,
  retryable: true,
} as const;

function after(of: typeof graph, state: SagaState, ...events: SagaEvent[]): SagaState {
  return events.reduce((known, event) => evolve(of, known, event), state);
}

function done(step: string): SagaEvent {
  return { type: 'step-completed', step, now: 0 };
}

function actionsOf(of: typeof graph, state: SagaState): string[] {
  return decide(of, state, 1_000).actions.map(({ kind, key }) => `${kind} ${key}`);
}

describe('a step that waits for a slot', () => {
  test('leaves the saga idle, without a time at which it is due', () => {
    expect(stepState(queued, 'work')).toMatchObject({ status: 'waiting', slot: { key: 'a', since: 7 } });
    expect(decide(graph, queued, 1_000)).toEqual({ actions: [] });
  });

  test('begins once it has one, and has not used an attempt until then', () => {
    const granted = after(graph, queued, { type: 'slot-granted', step: 'work' });
    expect(stepState(granted, 'work')).toMatchObject({ attempts: 0, slot: undefined });
    expect(actionsOf(graph, granted)).toEqual(['run work']);
    expect(actionsOf(graph, after(graph, granted, { type: 'step-started', step: 'work' }))).toEqual([]);
  });

  test('keeps its place when it finds no slot again', () => {
    expect(after(graph, queued, { type: 'slot-awaited', step: 'work', key: 'a', now: 9 })).toBe(queued);
  });

  test('waits no longer if its saga is cancelled, or its deadline passes', () => {
    const cancelled = after(graph, queued, { type: 'cancelled' });
    expect(stepState(cancelled, 'work')).toMatchObject({ status: 'pending', slot: undefined });
    expect(actionsOf(graph, cancelled)).toEqual(['compensate before']);
    const late = evolve(graph, { ...queued, deadline: 500 }, { type: 'expired', now: 1_000 });
    expect(late.status).toBe('compensating');
  });

  test('may have begun with a worker that was lost', () => {
    const taken = after(graph, queued, { type: 'taken-over', count: 1, bound: 3, now: 1_000 });
    expect(stepState(taken, 'work')).toMatchObject({ attempts: 1, unknown: true, slot: undefined });
  });

  test('begins if its class has no limit any more', () => {
    const without = sequenceOf(stepOf('before'), stepOf('work'));
    expect(actionsOf(without, queued)).toEqual(['run work']);
  });

  test('cannot wait for one if it has no limit, or runs at most once and its start is recorded', () => {
    const plain = graphOf(stepOf('work'));
    expect(evolve(plain, INITIAL, { type: 'slot-awaited', step: 'work', now: 1 })).toBe(INITIAL);
    const once = graphOf(stepOf('work', { idempotent: false, probe: 'ask', limit }));
    const started = after(
      once,
      INITIAL,
      { type: 'step-started', step: 'work' },
      { type: 'interrupted', now: 1 },
    );
    expect(evolve(once, started, { type: 'slot-awaited', step: 'work', now: 1 })).toBe(started);
  });
});

describe('items that wait for slots', () => {
  const items = graphOf(stepOf('work', { forEach: () => [], itemsAtOnce: 2, limit }));
  const fanned = after(items, INITIAL, {
    type: 'fan-out-started',
    step: 'work',
    items: ['1', '2', '3', '4'],
  });

  test('take the place of others of their saga', () => {
    const first = after(items, fanned, { type: 'slot-awaited', step: 'work[0]', now: 1 });
    expect(actionsOf(items, first)).toEqual(['run work[1]']);
    const both = after(items, first, { type: 'slot-awaited', step: 'work[1]', now: 1 });
    expect(decide(items, both, 1_000)).toEqual({ actions: [] });
  });

  test('leave the saga idle, and not stuck, although an item before them waits for its next attempt', () => {
    const state = after(
      items,
      fanned,
      { type: 'step-started', step: 'work[0]' },
      { type: 'step-failed', step: 'work[0]', ...failed, now: 0, random: 0 },
      { type: 'slot-awaited', step: 'work[1]', now: 1 },
      { type: 'slot-awaited', step: 'work[2]', now: 1 },
    );
    expect(decide(items, state, 0)).toEqual({ actions: [] });
  });

  test('do not wait if their step was dropped while the store was asked', () => {
    const optional = graphOf(stepOf('work', { forEach: () => [], itemsAtOnce: 2, limit, optional: true }));
    const dropped = after(
      optional,
      fanned,
      { type: 'step-started', step: 'work[0]' },
      { type: 'step-failed', step: 'work[0]', ...failed, retryable: false, now: 0, random: 0 },
    );
    expect(evolve(optional, dropped, { type: 'slot-awaited', step: 'work[1]', now: 1 })).toBe(dropped);
  });

  test('all begin if the class has no limit any more', () => {
    const without = graphOf(stepOf('work', { forEach: () => [], itemsAtOnce: 4 }));
    const both = after(
      items,
      fanned,
      { type: 'slot-awaited', step: 'work[0]', now: 1 },
      { type: 'slot-awaited', step: 'work[1]', now: 1 },
    );
    expect(actionsOf(without, both)).toContain('run work[0]');
  });
});
