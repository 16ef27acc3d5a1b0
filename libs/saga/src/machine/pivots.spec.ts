import { resolveRetryPolicy } from '../definition/options/retry-policy.js';
import type { SagaGraph } from '../definition/graph/saga-graph.js';
import { decide } from './decide.js';
import { evolve } from './evolve.js';
import { graphOf, sequenceOf, stepOf } from '../../../../test/fixtures/graph-of.js';
import { planRollback } from './plan-rollback.js';
import type { SagaEvent } from './saga-event.js';
import { type SagaState, stepState } from './saga-state.js';
import { shortOf, stateOf } from '../../../../test/fixtures/state-of.js';

const pay = stepOf('pay', { pivot: true, compensate: undefined });
const line = sequenceOf(stepOf('book'), pay, stepOf('ship'));
const fork = graphOf(
  stepOf('book'),
  { ...pay, after: ['book'] },
  stepOf('pack', { after: ['book'] }),
  stepOf('ship', { after: ['pay', 'pack'] }),
);
const cancelled: SagaEvent = { type: 'cancelled', reason: 'changed my mind', accepted: true };
const paid: SagaEvent = { type: 'step-completed', step: 'pay', now: 0 };

function failed(step: string, unknown = false, retryable = false): SagaEvent {
  const error = { name: 'Error', message: 'no' };
  const kind = unknown ? 'timeout' : 'error';
  return { type: 'step-failed', step, kind, unknown, retryable, error, now: 0, random: 0 };
}

function after(graph: SagaGraph, state: SagaState, ...events: SagaEvent[]): SagaState {
  return events.reduce((from, event) => evolve(graph, from, event), state);
}

function next(graph: SagaGraph, state: SagaState, now = 0): string[] {
  const { actions, settle } = decide(graph, state, now);
  return [...actions.map(({ kind, key }) => `${kind} ${key}`), ...(settle ? [settle] : [])];
}

describe('behind its pivot', () => {
  const passed = stateOf('running', 'book=completed pay=completed');

  it('a saga is not rolled back by a cancellation', () => {
    expect(evolve(line, passed, { type: 'cancelled' })).toBe(passed);
  });

  it('nor by one that was accepted before, which is kept as overtaken', () => {
    const state = evolve(line, passed, cancelled);
    expect([state.status, next(line, state)]).toEqual(['running', ['run ship']]);
    expect(state.overtaken).toEqual({ kind: 'cancelled', reason: 'changed my mind', step: 'pay' });
  });

  it('a cancellation that is found again changes nothing', () => {
    const state = evolve(line, passed, cancelled);
    expect(evolve(line, state, cancelled)).toBe(state);
    const waiting = evolve(line, stateOf('running', 'book=completed pay=running!'), cancelled);
    expect(evolve(line, waiting, cancelled)).toBe(waiting);
  });

  it('it goes no further when a step fails permanently', () => {
    const stopped = after(line, passed, { type: 'step-started', step: 'ship' }, failed('ship'));
    expect(stopped.status).toBe('running');
    expect(next(line, stopped)).toEqual(['stuck']);
  });

  it('it stays, of a branch that lost a join any, if nothing can compensate the pivot', () => {
    const race = graphOf(
      stepOf('book'),
      { ...pay, after: ['book'] },
      stepOf('bill', { after: ['book'] }),
      stepOf('ship', { after: ['pay', 'bill'], join: 'any' }),
    );
    const losing = stateOf('running', 'book=completed pay=running! bill=running!');
    const state = after(race, losing, { type: 'step-completed', step: 'bill', now: 0 }, cancelled);
    expect([state.status, next(race, state)]).toEqual(['running', []]);
    const done = evolve(race, state, paid);
    expect(next(race, done)).toEqual(['run ship']);
  });
});

describe('while a pivot is in progress', () => {
  const paying = stateOf('running', 'book=completed pay=running! pack=completed');
  const calls: [string, SagaState][] = [
    ['a cancellation', evolve(fork, paying, cancelled)],
    ['the deadline', evolve(fork, { ...paying, deadline: 5 }, { type: 'expired', now: 6 })],
    [
      'the failure of another branch',
      after(fork, stateOf('running', 'book=completed pay=running! pack=running!'), failed('pack')),
    ],
  ];

  it.each(calls)('%s compensates nothing, and nothing else starts', (_, state) => {
    expect([state.status, next(fork, state, 6)]).toEqual(['running', []]);
  });

  it.each(calls)('%s is dropped when the pivot completes, and the saga goes forward', (_, state) => {
    const done = evolve(fork, state, paid);
    expect([done.status, done.pendingRollback]).toEqual(['running', undefined]);
    expect(next(fork, done, 6)).toEqual([stepState(done, 'pack').status === 'failed' ? 'stuck' : 'run ship']);
  });

  it.each([
    ['alone', []],
    ['after a cancellation', [cancelled]],
  ])('a step that fails %s is the failure of the saga when the pivot completes', (_, before) => {
    const running = stateOf('running', 'book=completed pay=running! pack=running!');
    const done = after(fork, running, ...before, failed('pack'), paid);
    expect(done.failure).toMatchObject({ kind: 'error', step: 'pack' });
    expect(next(fork, done)).toEqual(['stuck']);
  });

  it.each(calls)('%s rolls the saga back when the pivot fails', (_, state) => {
    const back = evolve(fork, state, failed('pay'));
    expect(back.status).toBe('compensating');
    expect(back.failure).toEqual(state.pendingRollback!.failure);
    expect(next(fork, back)).toEqual([
      stepState(back, 'pack').status === 'completed' ? 'compensate pack' : 'compensate book',
    ]);
  });

  it.each(calls)(
    '%s rolls the saga back immediately when an attempt of the pivot fails for certain',
    (_, state) => {
      const back = evolve(fork, state, failed('pay', false, true));
      expect([back.status, stepState(back, 'pay').status]).toEqual(['compensating', 'failed']);
    },
  );

  it.each(calls)('%s waits for the next attempt when the outcome of this one is unknown', (_, state) => {
    const again = evolve(fork, state, failed('pay', true, true));
    expect([again.status, next(fork, again, 1_000)]).toEqual(['running', ['run pay']]);
    const done = after(fork, again, { type: 'step-started', step: 'pay' }, paid);
    expect([done.status, done.pendingRollback]).toEqual(['running', undefined]);
  });

  it.each(calls)('%s leaves it to an operator when the outcome stays unknown', (_, state) => {
    const barred = evolve(fork, state, failed('pay', true));
    expect([barred.status, next(fork, barred)]).toEqual(['compensating', ['stuck']]);
  });

  it.each(calls)('%s is decided by the next worker when this one is lost', (_, { ...state }) => {
    const stored = stateOf('running', shortOf(state).replaceAll('!', ''));
    const found = { ...stored, pendingRollback: state.pendingRollback };
    const taken = evolve(fork, found, { type: 'taken-over', count: 1, bound: 5, now: 7 });
    expect([taken.status, next(fork, taken, 7)]).toEqual(['running', ['run pay']]);
  });

  it('a return to a savepoint before it waits for it, too', () => {
    const graph = graphOf(
      stepOf('book', { savepoint: { attempts: 2 } }),
      { ...pay, after: ['book'] },
      stepOf('pack', { after: ['book'] }),
    );
    const state = after(
      graph,
      stateOf('running', 'book=completed pay=running! pack=running!'),
      failed('pack'),
    );
    expect([state.status, next(graph, state)]).toEqual(['running', []]);
    expect(next(graph, evolve(graph, state, paid))).toEqual(['stuck']);
    const back = evolve(graph, state, failed('pay'));
    expect([back.status, back.rollbackTo]).toEqual(['compensating', 'book']);
  });

  it('its sub-saga is asked to roll back, and decides', () => {
    const graph = sequenceOf(
      stepOf('book'),
      stepOf('pay', { pivot: true, compensate: undefined, kind: 'sub-saga' }),
    );
    const waiting = after(
      graph,
      stateOf('running', 'book=completed pay=running!'),
      { type: 'child-started', step: 'pay', child: 'c' },
      cancelled,
    );
    expect([waiting.status, next(graph, waiting)]).toEqual(['running', ['cancel-child pay']]);
    const ended = { type: 'child-ended', step: 'pay', child: 'c', now: 0 } as const;
    expect(next(graph, evolve(graph, waiting, { ...ended, status: 'completed' }))).toEqual(['completed']);
    expect(next(graph, evolve(graph, waiting, { ...ended, status: 'compensated' }))).toEqual([
      'compensate book',
    ]);
  });

  it('one with a compensation is waited for, too, and leads forward when it completes', () => {
    const graph = sequenceOf(stepOf('book'), stepOf('pay', { pivot: true }), stepOf('ship'));
    const state = evolve(graph, stateOf('running', 'book=completed pay=running!'), cancelled);
    expect([state.status, next(graph, state)]).toEqual(['running', []]);
    expect(next(graph, evolve(graph, state, paid))).toEqual(['run ship']);
    const lost = after(graph, state, { type: 'interrupted', now: 0 });
    expect(next(graph, lost)).toEqual(['compensate pay']);
  });

  it('one that is only about to be tried again is not in progress', () => {
    const waiting = stateOf('running', 'book=completed pay=waiting@500');
    expect(evolve(line, waiting, cancelled).status).toBe('compensating');
  });

  it('the plan of a rollback says that it is for the case that the pivot fails', () => {
    const { compensations, undecided } = planRollback(fork, paying);
    expect([compensations.map(({ key }) => key), undecided]).toEqual([['pack', 'book'], 'pay']);
  });
});

describe('a pivot of which its outcome is unknown', () => {
  const policy = resolveRetryPolicy({ attempts: 1 });
  const graph = graphOf(
    stepOf('book'),
    { ...pay, after: ['book'], retry: policy },
    stepOf('pack', { after: ['book'] }),
    stepOf('ship', { after: ['pay', 'pack'] }),
  );
  const doubtful = after(
    graph,
    stateOf('running', 'book=completed pay=running! pack=completed'),
    failed('pay', true),
    { type: 'settled', status: 'stuck' },
  );
  const barred = after(graph, doubtful, cancelled, { type: 'settled', status: 'stuck' });

  it('holds the saga until an operator retries it, or says that it is done', () => {
    expect([doubtful.status, doubtful.heldPhase]).toEqual(['stuck', 'running']);
    expect(next(graph, evolve(graph, doubtful, { type: 'retried' }))).toEqual(['run pay']);
    expect(next(graph, evolve(graph, doubtful, { type: 'operator-resolved', step: 'pay' }))).toEqual([
      'run ship',
    ]);
  });

  it('lets nothing be compensated when the saga is cancelled', () => {
    expect([barred.status, barred.heldPhase, shortOf(barred)]).toEqual([
      ...['stuck', 'compensating', 'book=completed pay=compensation_failed? pack=completed'],
    ]);
  });

  it.each([undefined, 'pay'])('leads forward again when it is retried (%s)', (step) => {
    const again = evolve(graph, barred, { type: 'retried', step });
    expect([again.status, again.failure, next(graph, again)]).toEqual(['running', undefined, ['run pay']]);
    expect(next(graph, after(graph, again, { type: 'step-started', step: 'pay' }, paid))).toEqual([
      'run ship',
    ]);
  });

  it('lets the rest be compensated once an operator says that it did not take effect', () => {
    const back = evolve(graph, barred, { type: 'operator-resolved', step: 'pay' });
    expect(next(graph, back)).toEqual(['compensate pack']);
  });

  it('does not lead forward again once an operator has said of another pivot that it did not take effect', () => {
    const two = graphOf(
      { ...pay, retry: policy },
      { ...pay, name: 'bill', retry: policy },
      stepOf('ship', { after: ['pay', 'bill'] }),
    );
    const both = after(
      two,
      stateOf('running', 'pay=running! bill=running!'),
      failed('pay', true),
      failed('bill', true),
      { type: 'settled', status: 'stuck' },
      cancelled,
      { type: 'settled', status: 'stuck' },
      { type: 'operator-resolved', step: 'pay' },
      { type: 'settled', status: 'stuck' },
    );
    expect(shortOf(both)).toBe('pay=compensated? bill=compensation_failed?');
    expect(next(two, evolve(two, both, { type: 'retried' }))).toEqual(['stuck']);
    expect(next(two, evolve(two, both, { type: 'operator-resolved', step: 'bill' }))).toEqual([
      'compensated',
    ]);
  });

  describe('and which had lost a join any', () => {
    const race = graphOf(
      stepOf('book'),
      { ...pay, after: ['book'], retry: policy, idempotent: false },
      stepOf('bill', { retry: policy }),
      stepOf('ship', { after: ['pay', 'bill'], join: 'any' }),
    );
    const lost = after(
      race,
      stateOf('running', 'book=completed pay=running! bill=running!'),
      failed('pay', true),
      failed('bill'),
      { type: 'settled', status: 'stuck' },
    );

    it.each([undefined, 'pay'])('is tried again when it is retried (%s)', (step) => {
      expect([lost.status, stepState(lost, 'pay').pruned]).toEqual(['stuck', true]);
      const again = evolve(race, lost, { type: 'retried', step });
      expect(next(race, again)).toEqual(['run pay', 'run bill']);
      const done = after(race, again, { type: 'step-started', step: 'pay' }, paid);
      expect(next(race, done)).toEqual(['run ship']);
    });

    it('needs what it came after again', () => {
      const again = after(race, lost, { type: 'retried' }, { type: 'step-started', step: 'pay' });
      expect([stepState(lost, 'book').pruned, stepState(again, 'book').pruned]).toEqual([true, false]);
      expect(next(race, again)).toEqual(['run bill']);
    });

    it('lets the rest be compensated when it is skipped', () => {
      expect(next(race, evolve(race, lost, { type: 'operator-resolved', step: 'pay' }))).toEqual([
        'compensate book',
      ]);
    });
  });

  it('is not tried again by the cancellation of a saga that took its workers down', () => {
    const lost = evolve(graph, stateOf('running', 'book=completed pay=running'), {
      ...{ type: 'taken-over', count: 1, losses: 6, bound: 5, now: 0 },
    });
    expect(lost.status).toBe('stuck');
    expect(next(graph, evolve(graph, lost, cancelled))).toEqual(['stuck']);
  });
});

describe('a saga that goes forward again after its pivot was in doubt', () => {
  const graph = graphOf(pay, stepOf('each', { forEach: () => ['a'] }), stepOf('check'));

  it('completes a fan-out whose last item completed in between', () => {
    const stuck = after(
      graph,
      stateOf('running', ''),
      { type: 'fan-out-started', step: 'each', items: ['"a"'] },
      { type: 'step-started', step: 'each[0]' },
      { type: 'step-started', step: 'pay' },
      failed('pay', true),
      { type: 'step-started', step: 'check' },
      failed('check'),
      { type: 'step-completed', step: 'each[0]', now: 0 },
      { type: 'settled', status: 'stuck' },
    );
    expect([stuck.status, stuck.heldPhase]).toEqual(['stuck', 'compensating']);
    const state = evolve(graph, stuck, { type: 'retried' });
    expect([state.status, stepState(state, 'each').status]).toEqual(['running', 'completed']);
  });
});
