import { graphOf, sequenceOf, stepOf } from '../../../../test/fixtures/graph-of.js';
import { decide } from './decide.js';
import { describeStep } from './describe-step.js';
import { evolve } from './evolve.js';
import { follow } from './follow.js';
import { INITIAL, stepState, changeState } from './saga-state.js';

const PER = 1_000;
const graph = { ...graphOf(stepOf('first', { delay: 10 })), rateLimit: { count: 1, per: PER } };
const work = { ...graphOf(stepOf('first')), rateLimit: { count: 1, per: PER } };
const turnAt = (at: number) => evolve(work, INITIAL, { type: 'turn-granted', at });
const kinds = (of: typeof graph, state: typeof INITIAL, now: number) =>
  follow(of, state, now).decision.actions.map(({ kind }) => kind);

describe('the start time of a saga', () => {
  const waiting = changeState(INITIAL, { startsAt: 5_000 });
  const plain = graphOf(stepOf('first', { delay: 10 }));

  test.each([
    ['without a limit', plain],
    ['that asks its rate limit then', graph],
  ])('holds everything before it: a saga %s', (_, of) => {
    expect(decide(of, waiting, 4_999)).toEqual({ actions: [], wakeAt: 5_000 });
    expect(follow(of, waiting, 4_999).events).toEqual([]);
    const [then, plainly] = [follow(of, waiting, 5_000), follow(of, INITIAL, 5_000)];
    expect(then.events).toEqual(plainly.events);
    expect(then.decision).toEqual(plainly.decision);
  });

  test('does not hold the deadline, a cancellation, or what operators have done before it', () => {
    const urgent = changeState(waiting, { deadline: 4_000 });
    expect(decide(plain, urgent, 3_999)).toEqual({ actions: [], wakeAt: 4_000 });
    expect(follow(plain, urgent, 4_000).decision.settle).toBe('compensated');
    const cancelled = evolve(plain, waiting, { type: 'cancelled', now: 1 });
    expect(decide(plain, cancelled, 1).settle).toBe('compensated');
    const completed = [
      { type: 'step-started', step: 'first' },
      { type: 'step-completed', step: 'first' },
    ] as const;
    const done = completed.reduce((state, event) => evolve(plain, state, event), waiting);
    expect(decide(plain, done, 1).settle).toBe('completed');
    expect(evolve(plain, done, { type: 'settled', status: 'completed' }).status).toBe('completed');
  });

  test('is not lost with a worker that held the saga before it: nothing may have begun', () => {
    const lost = { type: 'taken-over', count: 1, bound: 3, now: 4_000 } as const;
    const next = evolve(plain, waiting, lost);
    expect(stepState(next, 'first').attempts).toBe(0);
    expect(decide(plain, next, 4_000)).toEqual({ actions: [], wakeAt: 5_000 });
  });

  test('keeps the first steps as those that the saga stands at', () => {
    expect(describeStep(plain, waiting, decide(plain, waiting, 1))).toBe('first');
  });
});

describe('the turn of a saga', () => {
  test('is asked for before anything of it begins, a delay included', () => {
    expect(kinds(graph, INITIAL, 0)).toEqual(['begin']);
    expect(follow(graph, INITIAL, 0).events).toEqual([]);
  });

  test('is waited for until its time, and no longer than the deadline', () => {
    expect(decide(work, turnAt(5_000), 4_999)).toEqual({ actions: [], wakeAt: 5_000 });
    const urgent = changeState(turnAt(5_000), { deadline: 4_000 });
    expect(decide(work, urgent, 3_999)).toEqual({ actions: [], wakeAt: 4_000 });
    expect(follow(work, urgent, 4_000).decision.settle).toBe('compensated');
  });

  test('lets it begin for a tenth of the window, and is asked for again after that', () => {
    expect(kinds(work, turnAt(5_000), 5_000)).toEqual(['run']);
    expect(kinds(work, turnAt(5_000), 5_100)).toEqual(['run']);
    expect(kinds(work, turnAt(5_000), 5_101)).toEqual(['begin']);
  });

  test('is taken once: a saga that has begun goes on', () => {
    const begun = follow(work, turnAt(5_000), 5_000).state;
    expect(kinds(work, begun, 9_000)).toEqual(['run']);
    // As it is read from a row: what is stored of one that has begun is its steps.
    const started = evolve(work, begun, { type: 'step-started', step: 'first' });
    const read = changeState(started, { turn: undefined });
    expect(evolve(work, read, { type: 'turn-granted', at: 9_000 })).toBe(read);
  });

  test('is not lost with a worker before its time', () => {
    const lost = { type: 'taken-over', count: 1, bound: 3, now: 4_000 } as const;
    const next = evolve(work, turnAt(5_000), lost);
    expect(stepState(next, 'first').attempts).toBe(0);
    expect(kinds(work, next, 5_000)).toEqual(['run']);
  });

  test.each([
    ['without a time', INITIAL],
    ['whose time has come', turnAt(5_000)],
    ['whose time has passed', turnAt(1)],
  ])('is asked for again by a saga %s whose worker was lost, and may have begun', (_, state) => {
    const next = evolve(work, state, { type: 'taken-over', count: 1, bound: 3, now: 5_000 });
    expect(stepState(next, 'first')).toMatchObject({ attempts: 1, unknown: true });
    expect(kinds(work, next, 5_000)).toEqual(['begin']);
    const again = evolve(work, next, { type: 'turn-granted', at: 6_000 });
    expect(kinds(work, again, 5_999)).toEqual([]);
    expect(kinds(work, again, 6_000)).toEqual(['run']);
  });

  test('is not waited for by one that is cancelled', () => {
    const cancelled = evolve(work, turnAt(5_000), { type: 'cancelled', reason: 'no' });
    expect(decide(work, cancelled, 0).settle).toBe('compensated');
  });

  test('does not let the deadline compensate a saga whose pivot an operator has resolved before it', () => {
    const pay = stepOf('pay', { pivot: true, compensate: undefined });
    const paid = { ...sequenceOf(stepOf('order'), pay, stepOf('ship')), rateLimit: { count: 1, per: PER } };
    const due = changeState(INITIAL, { deadline: 6_000 });
    // Its workers were lost before it began.
    const stuck = evolve(paid, due, { type: 'taken-over', count: 4, bound: 3, now: 5_000 });
    expect(stuck.status).toBe('stuck');
    const resolved = ['order', 'pay'].reduce((state, step) => {
      const held = changeState(state, { status: 'stuck', heldPhase: 'running' });
      return evolve(paid, held, { type: 'operator-resolved', step });
    }, stuck);
    expect(stepState(resolved, 'pay').status).toBe('completed');
    expect(kinds(paid, resolved, 9_000)).toEqual(['begin']);
  });

  test('is not asked for by a saga whose steps were all done by an operator', () => {
    const lost = evolve(work, INITIAL, { type: 'taken-over', count: 4, bound: 3, now: 5_000 });
    const resolved = evolve(work, lost, { type: 'operator-resolved', step: 'first' });
    expect(decide(work, resolved, 5_000)).toEqual({ actions: [], settle: 'completed' });
  });
});
