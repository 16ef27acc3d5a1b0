import type { SagaGraph } from '../definition/graph/saga-graph.js';
import type { UnlinkedStep } from '../definition/graph/link-steps.js';
import { decide } from './decide.js';
import { evolve } from './evolve.js';
import { graphOf, sequenceOf, stepOf } from '../../../../test/fixtures/graph-of.js';
import { planRollback } from './plan-rollback.js';
import type { SagaEvent } from './saga-event.js';
import { INITIAL, type SagaState, stepState } from './saga-state.js';

const NOW = 1_000;

function subSaga(name: string, options: Partial<UnlinkedStep> = {}): UnlinkedStep {
  return stepOf(name, { kind: 'sub-saga', compensate: undefined, ...options });
}

/** Plays events, each of which has to fit: it changes the state. */
function after(graph: SagaGraph, events: readonly SagaEvent[], from: SagaState = INITIAL): SagaState {
  return events.reduce((state, event) => {
    const next = evolve(graph, state, event);
    if (next === state) throw new Error(`${JSON.stringify(event)} changes nothing`);
    return next;
  }, from);
}

const done = (step: string, result = `"${step}"`): SagaEvent[] => [
  { type: 'step-started', step },
  { type: 'step-completed', step, result },
];
const rejected = (step: string): SagaEvent[] => [
  { type: 'step-started', step },
  {
    type: 'step-failed',
    step,
    kind: 'rejected',
    unknown: false,
    error: { name: 'Error', message: 'no' },
    retryable: false,
    now: NOW,
    random: 0,
  },
];
const begun = (step: string, child = `${step}-1`): SagaEvent[] => [
  { type: 'step-started', step },
  { type: 'child-started', step, child },
];
const ended = (
  step: string,
  status: 'completed' | 'compensated' | 'aborted' = 'completed',
  result?: string,
  child = `${step}-1`,
): SagaEvent => ({
  type: 'child-ended',
  step,
  child,
  status,
  result,
  error: status === 'completed' ? undefined : { name: 'Error', message: 'sold out' },
  now: NOW,
});
const failedAs = (kind: 'rejected' | 'timeout'): SagaEvent => {
  const error = { name: 'Error', message: 'sold out' };
  return { type: 'child-ended', step: 'ship', child: 'ship-1', status: 'compensated', kind, error, now: NOW };
};
const askUndo = (step: string): SagaEvent[] => [
  { type: 'compensation-started', step },
  { type: 'child-undoing', step, child: `${step}-1` },
];
const CANCELLED: SagaEvent = { type: 'cancelled', reason: 'manual' };

function next(graph: SagaGraph, state: SagaState): string {
  const { actions, settle } = decide(graph, state, NOW);
  return [...actions.map(({ kind, key }) => `${kind} ${key}`), ...(settle ? [`settle ${settle}`] : [])].join(
    ', ',
  );
}

describe('a sub-saga step going forward', () => {
  const graph = sequenceOf(stepOf('order'), subSaga('ship'), stepOf('bill'));
  const waiting = after(graph, [...done('order'), ...begun('ship')]);

  it.each(['rejected', 'timeout'] as const)(
    'fails as its handler has failed, if it is remote: %s',
    (kind) => {
      const remote = sequenceOf(stepOf('order'), subSaga('ship', { kind: 'remote' }), stepOf('bill'));
      const state = after(remote, [failedAs(kind)], after(remote, [...done('order'), ...begun('ship')]));
      expect(state.failure).toMatchObject({ kind, step: 'ship', error: { message: 'sold out' } });
      expect(next(remote, state)).toBe('compensate order');
    },
  );

  it('runs its method, then waits for its saga with nothing to do and nothing due', () => {
    expect(next(graph, after(graph, done('order')))).toBe('run ship');
    expect(decide(graph, waiting, NOW)).toEqual({ actions: [] });
    expect(stepState(waiting, 'ship')).toMatchObject({
      status: 'waiting',
      active: false,
      child: { id: 'ship-1', phase: 'running' },
    });
  });

  it('completes with what its saga came to', () => {
    const state = after(graph, [ended('ship', 'completed', '{"parcel":7}')], waiting);
    expect(stepState(state, 'ship')).toMatchObject({ status: 'completed', result: '{"parcel":7}' });
    expect(next(graph, state)).toBe('run bill');
  });

  it.each(['compensated', 'aborted'] as const)('fails when its saga is %s, and rolls back', (status) => {
    const state = after(graph, [ended('ship', status)], waiting);
    expect(state).toMatchObject({ status: 'compensating', failure: { kind: 'error', step: 'ship' } });
    expect(stepState(state, 'ship')).toMatchObject({
      status: 'failed',
      unknown: false,
      errors: [{ message: 'sold out', attempt: 1 }],
    });
    expect(next(graph, state)).toBe('compensate order');
  });

  it('does not run its method again while its saga goes on', () => {
    expect(evolve(graph, waiting, { type: 'step-started', step: 'ship' })).toBe(waiting);
  });

  it('receives the end of its saga once', () => {
    const state = after(graph, [ended('ship', 'completed', '1')], waiting);
    expect(evolve(graph, state, ended('ship', 'compensated'))).toBe(state);
  });

  it('goes back to a savepoint when its saga fails, and starts another', () => {
    const retrying = sequenceOf(stepOf('order', { savepoint: { attempts: 2 } }), subSaga('ship'));
    const state = after(retrying, [
      ...done('order'),
      ...begun('ship'),
      ended('ship', 'compensated'),
      { type: 'resumed' },
    ]);
    expect(next(retrying, state)).toBe('run ship');
    expect(stepState(after(retrying, begun('ship', 'ship-2'), state), 'ship').child).toEqual({
      id: 'ship-2',
      phase: 'running',
    });
  });

  it('ignores late outcomes of the saga that it started before', () => {
    const retrying = sequenceOf(stepOf('order', { savepoint: { attempts: 2 } }), subSaga('ship'));
    const first = [...done('order'), ...begun('ship'), ended('ship', 'compensated')];
    const second = after(retrying, [...first, { type: 'resumed' }, ...begun('ship', 'ship-2')]);
    expect(evolve(retrying, second, ended('ship', 'compensated'))).toBe(second);
    expect(evolve(retrying, second, ended('ship', 'completed', '1'))).toBe(second);
    const asked: SagaEvent = { type: 'child-cancelling', step: 'ship', child: 'ship-1' };
    expect(evolve(retrying, second, asked)).toBe(second);
    const state = after(retrying, [ended('ship', 'completed', '2', 'ship-2')], second);
    expect(stepState(state, 'ship').result).toBe('2');
  });

  it('leaves nothing behind when its worker is lost before its saga was stored', () => {
    const lost = after(graph, [
      ...done('order'),
      { type: 'taken-over', count: 1, bound: 5, now: NOW },
      CANCELLED,
    ]);
    expect(stepState(lost, 'ship').unknown).toBe(false);
    expect(next(graph, lost)).toBe('compensate order');
  });

  it('keeps a saga from being stuck while another branch has failed permanently behind a pivot', () => {
    const fork = graphOf(
      stepOf('pay', { pivot: true, compensate: undefined }),
      subSaga('ship', { after: ['pay'] }),
      stepOf('mail', { after: ['pay'] }),
    );
    const state = after(fork, [...done('pay'), ...begun('ship'), ...rejected('mail')]);
    expect(next(fork, state)).toBe('');
    expect(next(fork, after(fork, [ended('ship')], state))).toBe('settle stuck');
  });
});

describe('a saga that lost too many workers while it waits for another', () => {
  const race = graphOf(
    subSaga('parcel'),
    stepOf('courier'),
    stepOf('done', { after: ['parcel', 'courier'], join: 'any' }),
  );
  const stuck = after(race, [...begun('parcel'), { type: 'taken-over', count: 6, bound: 5, now: NOW }]);

  it('receives the end when the saga goes on, so that the next steps run', () => {
    expect(evolve(race, stuck, ended('parcel'))).toBe(stuck);
    const state = after(race, [{ type: 'retried' }, ended('parcel')], stuck);
    expect(stepState(state, 'done').wonBy).toBe('parcel');
    expect(stepState(state, 'courier').pruned).toBe(true);
  });

  it('rejects that the sub-saga step is resolved', () => {
    expect(evolve(race, stuck, { type: 'operator-resolved', step: 'parcel', result: '1' })).toBe(stuck);
    const back = after(
      race,
      [{ type: 'retried' }, ended('parcel'), ...done('done'), CANCELLED, ...askUndo('parcel')],
      stuck,
    );
    const lost = after(race, [{ type: 'taken-over', count: 6, bound: 5, now: NOW }], back);
    expect(evolve(race, lost, { type: 'operator-resolved', step: 'parcel' })).toBe(lost);
  });
});

describe('a rollback while the saga of a step runs', () => {
  const graph = sequenceOf(stepOf('order'), subSaga('ship'));
  const turning = after(graph, [...done('order'), ...begun('ship'), CANCELLED]);

  it('cancels it once, and compensates earlier steps only when it has ended', () => {
    expect(next(graph, turning)).toBe('cancel-child ship');
    const asked = after(graph, [{ type: 'child-cancelling', step: 'ship', child: 'ship-1' }], turning);
    expect(next(graph, asked)).toBe('');
    expect(next(graph, after(graph, [ended('ship', 'compensated')], asked))).toBe('compensate order');
  });

  it('compensates it if it completed all the same', () => {
    const state = after(graph, [ended('ship', 'completed')], turning);
    expect(next(graph, state)).toBe('undo-child ship');
  });

  it('starts none that would have to be cancelled immediately', () => {
    const late = after(graph, [
      ...done('order'),
      { type: 'step-started', step: 'ship' },
      CANCELLED,
      { type: 'child-started', step: 'ship', child: 'ship-1' },
    ]);
    expect(stepState(late, 'ship')).toMatchObject({ status: 'failed', unknown: false });
    expect(stepState(late, 'ship').child).toBeUndefined();
    expect(next(graph, late)).toBe('compensate order');
  });

  it('cancels it when its branch has lost a race', () => {
    const race = graphOf(
      subSaga('parcel'),
      subSaga('courier'),
      stepOf('done', { after: ['parcel', 'courier'], join: 'any' }),
    );
    const state = after(race, [...begun('parcel'), ...begun('courier'), ended('courier')]);
    expect(next(race, state)).toBe('run done, cancel-child parcel');
    const completed = after(race, done('done'), state);
    expect(next(race, completed)).toBe('cancel-child parcel');
    const over = after(race, [ended('parcel', 'compensated')], completed);
    expect(next(race, over)).toBe('settle completed');
  });
});

describe('compensating a step whose saga completed', () => {
  const plain = sequenceOf(stepOf('order'), subSaga('ship'), stepOf('bill'));
  const toBill = [...done('order'), ...begun('ship'), ended('ship', 'completed', '1')];

  it('asks its saga to undo itself, and waits for that', () => {
    const turning = after(plain, [...toBill, ...rejected('bill')]);
    expect(next(plain, turning)).toBe('undo-child ship');
    const asked = after(plain, askUndo('ship'), turning);
    expect(next(plain, asked)).toBe('');
    const undone = after(plain, [ended('ship', 'compensated')], asked);
    expect(stepState(undone, 'ship').status).toBe('compensated');
    expect(next(plain, undone)).toBe('compensate order');
  });

  it('calls its own compensation after its saga’s', () => {
    const both = sequenceOf(subSaga('ship', { compensate: 'tellCustomer' }), stepOf('bill'));
    const asked = after(both, [
      ...begun('ship'),
      ended('ship', 'completed', '1'),
      ...rejected('bill'),
      ...askUndo('ship'),
    ]);
    expect(next(both, asked)).toBe('');
    const undone = after(both, [ended('ship', 'compensated')], asked);
    expect(next(both, undone)).toBe('compensate ship');
    const compensating = after(both, [{ type: 'compensation-started', step: 'ship' }], undone);
    expect(stepState(compensating, 'ship').compensationAttempts).toBe(1);
    const over = after(both, [{ type: 'compensation-completed', step: 'ship' }], compensating);
    expect(next(both, over)).toBe('settle compensated');
  });

  it('needs an operator if its saga is aborted meanwhile', () => {
    const state = after(plain, [
      ...toBill,
      ...rejected('bill'),
      ...askUndo('ship'),
      ended('ship', 'aborted'),
    ]);
    expect(stepState(state, 'ship').status).toBe('compensation_failed');
    expect(next(plain, state)).toBe('settle stuck');
  });

  it.each(['compensated', 'aborted'] as const)(
    'compensates what an operator completed in place of a saga that was %s by its own compensation alone',
    (status) => {
      const afterSkip = (compensate?: string) => {
        const graph: SagaGraph = {
          ...sequenceOf(stepOf('order'), subSaga('ship', { compensate }), stepOf('bill')),
          onFailure: 'suspend',
        };
        const standing = after(graph, [
          ...done('order'),
          ...begun('ship'),
          ended('ship', status),
          { type: 'settled', status: 'suspended' },
          { type: 'operator-resolved', step: 'ship', result: '"manual"' },
          CANCELLED,
        ]);
        return next(graph, standing);
      };
      expect(afterSkip('tellCustomer')).toBe('compensate ship');
      expect(afterSkip()).toBe('compensate order');
    },
  );

  it('asks again when the worker was lost between asking and recording it', () => {
    const turning = after(plain, [
      ...toBill,
      ...rejected('bill'),
      { type: 'compensation-started', step: 'ship' },
    ]);
    const lost = after(plain, [{ type: 'interrupted', now: NOW }], turning);
    expect(next(plain, lost)).toBe('undo-child ship');
  });

  it('is planned as it then happens', () => {
    const compensations = (events: readonly SagaEvent[]) =>
      planRollback(plain, after(plain, events)).compensations.map(({ key, child }) => child ?? key);
    expect(compensations(toBill)).toEqual(['ship-1', 'order']);
    expect(compensations([...done('order'), ...begun('ship')])).toEqual(['ship-1', 'order']);
    const asked: SagaEvent = { type: 'child-cancelling', step: 'ship', child: 'ship-1' };
    expect(compensations([...done('order'), ...begun('ship'), CANCELLED, asked])).toEqual([
      'ship-1',
      'order',
    ]);
    expect(compensations([...toBill, CANCELLED, ...askUndo('ship')])).toEqual(['ship-1', 'order']);
  });
});

describe('a completed saga that is compensated later', () => {
  const graph = sequenceOf(stepOf('a'), stepOf('b'));
  const completed = after(graph, [...done('a'), ...done('b'), { type: 'settled', status: 'completed' }]);

  it('rolls back as any other', () => {
    const state = after(graph, [{ type: 'undone', reason: 'returned' }], completed);
    expect(state).toMatchObject({ status: 'compensating', failure: { kind: 'undone', reason: 'returned' } });
    expect(next(graph, state)).toBe('compensate b');
  });

  it('is not one that passed its pivot', () => {
    const pivoted = sequenceOf(stepOf('a', { pivot: true, compensate: undefined }), stepOf('b'));
    const state = after(pivoted, [...done('a'), ...done('b'), { type: 'settled', status: 'completed' }]);
    expect(evolve(pivoted, state, { type: 'undone' })).toBe(state);
  });

  it.each(['compensated', 'aborted'] as const)('is not one that was %s', (status) => {
    const state = { ...completed, status };
    expect(evolve(graph, state, { type: 'undone' })).toBe(state);
  });
});
