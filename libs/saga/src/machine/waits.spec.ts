import type { SagaGraph } from '../definition/graph/saga-graph.js';
import { decide } from './decide.js';
import { evolve } from './evolve.js';
import { follow } from './follow.js';
import { graphOf, sequenceOf, stepOf } from '../../../../test/fixtures/graph-of.js';
import type { SagaEvent } from './saga-event.js';
import { INITIAL, PENDING, type SagaState, type StepState, stepState, changeState } from './saga-state.js';
import { stepAwaiting } from './waits.js';

const SIGNAL = { kind: 'signal', wait: { signal: 'reply' } } as const;
const TIMED = { kind: 'signal', wait: { signal: 'reply', timeout: 500 } } as const;
const ERROR = { name: 'Error', message: 'no' };

const pay = stepOf('pay');
const reply = stepOf('reply', SIGNAL);
const line = sequenceOf(pay, reply, stepOf('ship'));

const reach = (graph: SagaGraph, state: SagaState, ...events: SagaEvent[]) =>
  events.reduce((before, event) => evolve(graph, before, event), state);
/** With all that follows by itself. */
const at = (graph: SagaGraph, now: number, state: SagaState, ...events: SagaEvent[]) =>
  follow(graph, reach(graph, state, ...events), now).state;

const done = (step: string): SagaEvent[] => [
  { type: 'step-started', step },
  { type: 'step-completed', step, result: `"${step}"`, now: 0 },
];
const failed = (step: string): SagaEvent[] => [
  { type: 'step-started', step },
  {
    ...{ type: 'step-failed', step, kind: 'rejected', error: ERROR, retryable: false, unknown: false },
    ...{ now: 0, random: 0 },
  },
];
const sent = (number: number, name = 'reply'): SagaEvent => ({
  ...{ type: 'signalled', name, number, payload: `"${name} ${number}"` },
});
const refusal = (number: number, name = 'reply'): SagaEvent => ({
  ...{ type: 'refused', name, number, error: ERROR, now: 0 },
});
const waits = (state: SagaState) => {
  const { status, wait } = stepState(state, 'reply');
  return status === 'waiting' && wait !== undefined && wait.takenSignal === undefined;
};

describe('a step that waits for a signal', () => {
  const waiting = at(line, 0, INITIAL, ...done('pay'));

  it('does so once what it comes after is done, and is not run', () => {
    expect(waits(at(line, 0, INITIAL))).toBe(false);
    expect(waits(waiting)).toBe(true);
    expect(decide(line, waiting, 0)).toEqual({ actions: [] });
  });

  it('leaves the saga idle, neither stuck nor due at any time', () => {
    expect(decide(line, waiting, 10 ** 12)).toEqual({ actions: [] });
  });

  it('runs with the payload of the signal, or with none if it had none', () => {
    const signalled = evolve(line, waiting, sent(1));
    expect(decide(line, signalled, 0).actions).toMatchObject([{ kind: 'run', key: 'reply' }]);
    expect(stepState(signalled, 'reply').wait).toEqual({
      signal: 'reply',
      takenSignal: 1,
      payload: '"reply 1"',
    });
    const empty = evolve(line, waiting, { type: 'signalled', name: 'reply', number: 1 });
    expect(stepState(empty, 'reply').wait).toEqual({ signal: 'reply', takenSignal: 1 });
  });

  it('takes none of another name', () => {
    expect(evolve(line, waiting, sent(1, 'other'))).toBe(waiting);
    expect(stepAwaiting(line, waiting, 'other')).toBeUndefined();
  });

  it('has nothing left of it once it is done', () => {
    const state = reach(line, waiting, sent(1), ...done('reply'));
    expect(stepState(state, 'reply')).toMatchObject({ status: 'completed', wait: undefined });
    expect(state.lastTakenSignals).toEqual({ reply: 1 });
  });

  it('is tried again with the same signal, and takes no other', () => {
    const again: SagaEvent = {
      ...{ type: 'step-failed', step: 'reply', kind: 'error', error: ERROR, retryable: true, unknown: false },
      ...{ now: 0, random: 0 },
    };
    const state = reach(line, waiting, sent(1), { type: 'step-started', step: 'reply' }, again);
    expect(evolve(line, state, sent(2))).toBe(state);
    expect(decide(line, state, 100).actions).toMatchObject([{ kind: 'run', key: 'reply' }]);
  });

  it('is retried by an operator with the same signal', () => {
    const suspending: SagaGraph = { ...line, onFailure: 'suspend' };
    const rest: SagaEvent[] = [{ type: 'settled', status: 'suspended' }, { type: 'retried' }];
    const state = reach(suspending, waiting, sent(1), ...failed('reply'), ...rest);
    expect(decide(suspending, state, 0).actions).toMatchObject([{ kind: 'run', key: 'reply' }]);
    expect(stepState(state, 'reply').wait).toMatchObject({ takenSignal: 1, payload: '"reply 1"' });
  });

  it('is undone like any other', () => {
    const state = reach(line, waiting, sent(1), ...done('reply'), ...failed('ship'));
    expect(decide(line, state, 0).actions).toMatchObject([{ kind: 'compensate', key: 'reply' }]);
  });

  it('waits after its delay', () => {
    const delayed = graphOf(stepOf('reply', { ...TIMED, delay: 100 }));
    const state = at(delayed, 0, INITIAL);
    expect([waits(state), decide(delayed, state, 0).wakeAt]).toEqual([false, 100]);
    expect(stepAwaiting(delayed, state, 'reply')).toBeUndefined();
    expect(stepState(at(delayed, 100, state), 'reply').wait).toEqual({ signal: 'reply', until: 600 });
  });

  it('is asked first whether it is to wait', () => {
    const asked = graphOf(stepOf('reply', { ...SIGNAL, when: () => true }));
    expect(decide(asked, INITIAL, 0).actions).toMatchObject([{ kind: 'await', key: 'reply' }]);
    const state = evolve(asked, INITIAL, { type: 'wait-started', step: 'reply', now: 0 });
    expect(decide(asked, evolve(asked, state, sent(1)), 0).actions).toMatchObject([{ kind: 'run' }]);
  });

  it('starts to wait once, however often the event is repeated', () => {
    expect(evolve(line, waiting, { type: 'wait-started', step: 'reply', now: 5 })).toBe(waiting);
    expect(evolve(line, waiting, { type: 'wait-started', step: 'ship', now: 5 })).toBe(waiting);
  });
});

describe('signals of one name', () => {
  const both = graphOf(stepOf('b', SIGNAL), stepOf('a', SIGNAL));
  const waiting = at(both, 0, INITIAL);

  it('are taken once each', () => {
    const state = reach(both, waiting, sent(1));
    expect(evolve(both, state, sent(1))).toBe(state);
  });

  it('are taken by the steps that wait, in the order of the graph', () => {
    const state = reach(both, waiting, sent(1), sent(2));
    expect(['b', 'a'].map((step) => stepState(state, step).wait?.takenSignal)).toEqual([1, 2]);
  });

  it('are taken in their order: none after one that came later', () => {
    const state = reach(both, waiting, sent(2));
    expect(evolve(both, state, sent(1))).toBe(state);
  });

  it('have nothing to do with those of another', () => {
    const two = graphOf(stepOf('b', SIGNAL), stepOf('a', { kind: 'signal', wait: { signal: 'other' } }));
    const state = reach(two, at(two, 0, INITIAL), sent(7), sent(3, 'other'));
    expect(state.lastTakenSignals).toEqual({ reply: 7, other: 3 });
  });

  it('are not taken before a step waits for them', () => {
    const state = at(line, 0, INITIAL);
    expect(evolve(line, state, sent(1))).toBe(state);
    expect(evolve(line, at(line, 0, state, ...done('pay')), sent(1)).lastTakenSignals).toEqual({ reply: 1 });
  });
});

describe('a wait with a timeout', () => {
  const timed = sequenceOf(pay, stepOf('reply', TIMED));
  const waiting = at(timed, 1_000, INITIAL, ...done('pay'));

  it('makes the saga due when it is over, and no sooner', () => {
    expect(decide(timed, waiting, 1_000)).toEqual({ actions: [], wakeAt: 1_500 });
    expect(decide(timed, waiting, 1_499)).toEqual({ actions: [], wakeAt: 1_500 });
  });

  it('that expires fails, and the saga rolls back', () => {
    const state = at(timed, 1_500, waiting);
    expect(stepState(state, 'reply')).toMatchObject({ status: 'failed', unknown: false, attempts: 0 });
    expect(state).toMatchObject({ status: 'compensating', failure: { kind: 'timeout', step: 'reply' } });
    expect(decide(timed, state, 1_500).actions).toMatchObject([{ kind: 'compensate', key: 'pay' }]);
  });

  it('takes nothing once it is over', () => {
    const suspending: SagaGraph = { ...timed, onFailure: 'suspend' };
    const state = at(suspending, 1_500, waiting);
    expect(evolve(suspending, state, sent(1))).toBe(state);
  });

  it('is not over before its time, nor once its signal has come', () => {
    const early: SagaEvent = { type: 'wait-expired', step: 'reply', now: 1_499 };
    expect(evolve(timed, waiting, early)).toBe(waiting);
    const signalled = evolve(timed, waiting, sent(1));
    expect(evolve(timed, signalled, { ...early, now: 2_000 })).toBe(signalled);
    expect(decide(timed, signalled, 2_000).wakeAt).toBeUndefined();
  });

  it('waits anew when an operator tries it again, and without its delay', () => {
    const suspending: SagaGraph = {
      ...graphOf(stepOf('reply', { ...TIMED, delay: 100 })),
      onFailure: 'suspend',
    };
    const over = at(suspending, 600, at(suspending, 100, at(suspending, 0, INITIAL)));
    const held = evolve(suspending, over, { type: 'settled', status: 'suspended' });
    expect(held.status).toBe('suspended');
    const again = at(suspending, 9_000, held, { type: 'retried' });
    expect(stepState(again, 'reply').wait).toEqual({ signal: 'reply', until: 9_500 });
  });
});

describe('a refusal', () => {
  const approval = { kind: 'approval', wait: { signal: 'approval:pay' } } as const;
  const decided = sequenceOf(pay, stepOf('approve', approval));
  const waiting = at(decided, 0, INITIAL, ...done('pay'));

  it('fails the step, which is not run, and turns the saga back', () => {
    const state = evolve(decided, waiting, refusal(1, 'approval:pay'));
    expect(state).toMatchObject({ status: 'compensating', failure: { kind: 'rejected', error: ERROR } });
    expect(stepState(state, 'approve')).toMatchObject({ status: 'failed', attempts: 0, wait: undefined });
    expect(decide(decided, state, 0).actions).toMatchObject([{ kind: 'compensate', key: 'pay' }]);
  });

  it('counts as taken, and has no effect before a step asks for it', () => {
    expect(evolve(decided, waiting, refusal(1, 'approval:pay')).lastTakenSignals).toEqual({
      'approval:pay': 1,
    });
    const early = at(decided, 0, INITIAL);
    expect(evolve(decided, early, refusal(1, 'approval:pay'))).toBe(early);
  });
});

describe('a wait that must not go on', () => {
  it('takes no signal once the saga rolls back', () => {
    const fork = graphOf(reply, pay);
    const state = at(fork, 0, at(fork, 0, INITIAL), ...failed('pay'));
    expect(state.status).toBe('compensating');
    expect(evolve(fork, state, sent(1))).toBe(state);
    expect(stepState(state, 'reply')).toEqual(PENDING);
    expect(decide(fork, state, 0).settle).toBe('compensated');
  });

  it('is skipped when another wins the race, and takes nothing', () => {
    const race = graphOf(reply, pay, stepOf('ship', { after: ['reply', 'pay'], join: 'any' }));
    const state = at(race, 0, at(race, 0, INITIAL), ...done('pay'));
    expect(stepState(state, 'reply')).toMatchObject({ status: 'skipped', pruned: true, wait: undefined });
    expect(evolve(race, state, sent(1))).toBe(state);
  });

  it('waits on, beside a savepoint that the saga goes back to, and takes nothing until it is back', () => {
    const beside = graphOf(
      stepOf('save', { savepoint: { attempts: 2 } }),
      stepOf('pack', { after: ['save'] }),
      stepOf('ship', { after: ['pack'] }),
      reply,
    );
    const before = at(beside, 0, INITIAL);
    const back = at(beside, 0, before, ...done('save'), ...done('pack'), ...failed('ship'));
    expect(back.rollbackTo).toBe('save');
    expect(evolve(beside, back, sent(1))).toBe(back);
    const undone: SagaEvent[] = [
      { type: 'compensation-started', step: 'pack' },
      { type: 'compensation-completed', step: 'pack' },
    ];
    const resumed = at(beside, 0, back, ...undone);
    expect(resumed.status).toBe('running');
    expect(evolve(beside, resumed, sent(1)).lastTakenSignals).toEqual({ reply: 1 });
  });

  it('behind a savepoint waits for another, in the new round', () => {
    const behind = graphOf(
      stepOf('save', { savepoint: { attempts: 2 } }),
      stepOf('reply', { ...SIGNAL, after: ['save'] }),
      stepOf('ship', { after: ['reply'] }),
    );
    const waiting = at(behind, 0, INITIAL, ...done('save'));
    const back = reach(behind, waiting, sent(1), ...done('reply'), ...failed('ship'));
    const undone: SagaEvent[] = [
      { type: 'compensation-started', step: 'reply' },
      { type: 'compensation-completed', step: 'reply' },
    ];
    const again = at(behind, 0, back, ...undone);
    expect(waits(again)).toBe(true);
    expect(evolve(behind, again, sent(1))).toBe(again);
    expect(evolve(behind, again, sent(2)).lastTakenSignals).toEqual({ reply: 2 });
  });
});

describe('a worker that is lost', () => {
  const waiting = at(line, 0, INITIAL, ...done('pay'));
  const lost: SagaEvent = { type: 'taken-over', count: 1, bound: 3, now: 0 };

  it('was at nothing while nothing had come', () => {
    expect(stepState(evolve(line, waiting, lost), 'reply')).toEqual(stepState(waiting, 'reply'));
  });

  it('may have been at what had come: that is unknown, and tried again with the same signal', () => {
    const state = reach(line, waiting, sent(1), lost);
    expect(stepState(state, 'reply')).toMatchObject({ attempts: 1, unknown: true, wait: { takenSignal: 1 } });
    expect(decide(line, state, 0).actions).toMatchObject([{ kind: 'run', key: 'reply' }]);
    expect(evolve(line, state, sent(2))).toBe(state);
  });

  it('may have run the step also if the saga then rolls back: it is compensated', () => {
    const state = reach(line, waiting, sent(1), lost, { type: 'cancelled' });
    expect(decide(line, state, 0).actions).toMatchObject([{ kind: 'compensate', key: 'reply' }]);
  });
});

describe('a loser of a race whose compensation was requested, when the saga compensates as well,', () => {
  const reply = { signal: 'undone', timeout: 600 };
  const race = graphOf(
    stepOf('fast'),
    stepOf('slow', { compensationReply: reply }),
    stepOf('after', { after: ['fast', 'slow'], join: 'any' }),
  );
  const waits = { ...PENDING, status: 'compensating', pruned: true, wait: { signal: 'undone', until: 600 } };
  const stateOf = (after: Partial<StepState>) => ({
    ...INITIAL,
    status: 'compensating' as const,
    failure: { kind: 'cancelled' as const },
    steps: new Map([
      ['slow', waits as StepState],
      ['after', { ...PENDING, ...after }],
    ]),
  });

  test('is waited for while what depends on it is compensated, until its time is over', () => {
    const state = stateOf({ status: 'completed' });
    expect(decide(race, state, 0)).toMatchObject({ actions: [{ kind: 'compensate' }], wakeAt: 600 });
    expect(decide(race, state, 600).actions.map(({ kind }) => kind)).toContain('miss-reply');
  });

  test('is waited for before the saga is stuck with a compensation that failed', () => {
    const failed = stateOf({ status: 'compensation_failed' });
    expect(decide(race, failed, 0)).toEqual({ actions: [], wakeAt: 600 });
    const missed = changeState(failed, { steps: new Map(failed.steps).set('slow', PENDING) });
    expect(decide(race, missed, 0)).toEqual({ actions: [], settle: 'stuck' });
  });
});

describe('a step that was called with its signal, and whose worker was lost', () => {
  const charge = stepOf('charge', { pivot: true, compensate: undefined, idempotent: false });
  const both = graphOf(reply, charge);
  const lost = reach(
    both,
    at(both, 0, INITIAL),
    sent(1),
    { type: 'step-started', step: 'reply' },
    { type: 'step-started', step: 'charge' },
    { type: 'taken-over', count: 1, bound: 3, now: 0 },
  );

  it('is called with the same again if the saga was to roll back, and goes forward after all', () => {
    const barred = reach(both, lost, { type: 'cancelled' });
    expect([barred.status, stepState(barred, 'reply').status]).toEqual(['compensating', 'failed']);
    const again = at(both, 0, barred, { type: 'settled', status: 'stuck' }, { type: 'retried' }, sent(2));
    expect(stepState(again, 'reply').wait).toMatchObject({ takenSignal: 1, payload: '"reply 1"' });
    expect(decide(both, again, 0).actions.map(({ key }) => key)).toContain('reply');
  });
});
