import { graphOf, stepOf } from '../../../../../test/fixtures/graph-of.js';
import { SAGA } from '../../../../../test/fixtures/run-of.js';
import { decide } from '../../machine/decide.js';
import { evolve } from '../../machine/evolve.js';
import { INITIAL, PENDING, type SagaState, type StepState } from '../../machine/saga-state.js';
import { SagaValidationError } from '../../errors.js';
import type { StoredSaga } from '../ports/stored-saga.js';
import { resolveEdit } from './operator-edits.js';
import { abandonEdit, resolveOpenEdit, retryNowEdit } from './way-out-edits.js';

const graph = graphOf(stepOf('pay'), stepOf('tell', { after: ['pay'], delay: 1_000 }));
const error = { name: 'AttemptAbandonedError', message: 'it hangs' };

function sagaWith(steps: Record<string, Partial<StepState>>, given: Partial<StoredSaga> = {}): StoredSaga {
  const known = Object.entries(steps).map(([key, step]) => [key, { ...PENDING, ...step }] as const);
  return { ...SAGA, state: { ...INITIAL, steps: new Map(known) }, ...given };
}

function stateOf(edit: ReturnType<typeof retryNowEdit>): SagaState | undefined {
  return edit && 'state' in edit ? edit.state : undefined;
}

describe('retryNow()', () => {
  const failed = { status: 'waiting', attempts: 1, failures: 1, retryAt: 9_000 } as const;

  it('leaves a delay, a rate limit and a wait for a signal as they are', () => {
    const delayed = sagaWith({ pay: { status: 'completed' }, tell: { status: 'waiting', retryAt: 9_000 } });
    expect(() => retryNowEdit(delayed, graph, 0, {})).toThrow(/no failed attempt waits/);
    const limited = sagaWith({ pay: { ...failed, permit: 9_000 } });
    expect(() => retryNowEdit(limited, graph, 0, {})).toThrow(/no failed attempt waits/);
  });

  it('works without the graph of a saga that no worker holds', () => {
    const state = stateOf(retryNowEdit(sagaWith({ pay: failed }), undefined, 0, {}));
    expect(state?.steps.get('pay')).toMatchObject({ status: 'waiting', failures: 1, retryAt: undefined });
  });

  it('is refused while a worker may have begun other attempts', () => {
    const two = graphOf(stepOf('pay'), stepOf('pack'));
    const saga = sagaWith({ pay: failed }, { lockedBy: 'worker' });
    expect(() => retryNowEdit(saga, two, 0, {})).toThrow(/attempts are in progress: pack/);
  });
});

describe('an attempt of an at-most-once step with a probe', () => {
  it('has failed when it is abandoned: its probe may be what hangs', () => {
    const once = graphOf(stepOf('pay', { idempotent: false, probe: 'find' }));
    const saga = sagaWith({ pay: { status: 'running', attempts: 1 } }, { lockedBy: 'worker' });
    const state = stateOf(abandonEdit(saga, once, 0, { step: 'pay', error, random: 0 }));
    expect(state?.steps.get('pay')).toMatchObject({ status: 'failed', unknown: true });
    expect(state?.status).toBe('compensating');
  });
});

describe('an at-most-once step that was interrupted, of a saga that compensates', () => {
  it('can be completed by an operator in the place of its probe, and is compensated then', () => {
    const once = graphOf(stepOf('pay', { idempotent: false, probe: 'find' }));
    const saga = sagaWith({ pay: { status: 'running', attempts: 1 } });
    const compensating = { ...saga, state: { ...saga.state, status: 'compensating' } } as const;
    const state = stateOf(resolveOpenEdit(compensating, once, 0, { step: 'pay', result: '1' }));
    expect(state?.steps.get('pay')).toMatchObject({ status: 'completed', result: '1' });
    expect(state?.status).toBe('compensating');
  });
});

describe('resolve() of a compensation with a result', () => {
  it.each([
    ['that is next', { status: 'completed', attempts: 1 }, { status: 'compensating' }],
    ['that failed', { status: 'compensation_failed' }, { status: 'stuck', heldPhase: 'compensating' }],
    [
      'that failed behind an optional step',
      { status: 'compensation_failed' },
      { status: 'stuck', heldPhase: 'running' },
    ],
  ] as const)('is refused for one %s: a compensation has no result', (_, pay, given) => {
    const { state, ...saga } = sagaWith({ pay });
    const compensating = { ...saga, state: { ...state, failure: { kind: 'cancelled' }, ...given } } as const;
    const compensated = graphOf(stepOf('pay', { compensate: 'refund' }));
    const resolve = (result?: string) => resolveEdit(compensating, compensated, 0, { step: 'pay', result });
    expect(() => resolve('1')).toThrow(SagaValidationError);
    expect(stateOf(resolve())?.steps.get('pay')?.status).toBe('compensated');
  });
});

describe('what a transaction was to do', () => {
  it('is known not to have happened when it is abandoned', () => {
    const transactional = graphOf(stepOf('pay', { transactional: true }));
    const saga = sagaWith({}, { lockedBy: 'worker' });
    const state = stateOf(abandonEdit(saga, transactional, 0, { step: 'pay', error, random: 0 }));
    expect(state?.steps.get('pay')).toMatchObject({ status: 'waiting', failures: 1, unknown: false });
  });
});

describe('a step that waits for a sub-saga', () => {
  it('is not for an operator to complete, and the error names the saga to act on', () => {
    const parent = graphOf(stepOf('ship', { kind: 'sub-saga' }));
    const saga = sagaWith({ ship: { status: 'waiting', attempts: 1, child: { id: 'c', phase: 'running' } } });
    expect(() => resolveOpenEdit(saga, parent, 0, { step: 'ship' })).toThrow(
      /waits for saga c. Act on that saga/,
    );
  });
});

describe('a cancellation that waits for an attempt that is abandoned', () => {
  it('takes effect with the same call, and not only with the next worker', () => {
    const given = { lockedBy: 'worker', cancelRequested: { reason: 'the customer called' } };
    const saga = sagaWith({}, given);
    const state = stateOf(abandonEdit(saga, graph, 0, { step: 'pay', error, random: 0 }));
    expect(state).toMatchObject({
      status: 'compensating',
      failure: { kind: 'cancelled', reason: 'the customer called' },
    });
  });
});

describe('a fan-out that has no items yet', () => {
  const lines = graphOf(stepOf('pay'), stepOf('ship', { after: ['pay'], forEach: () => [1, 2] }));
  const saga = sagaWith({ pay: { status: 'completed' } });

  it('is done elsewhere as a whole, with the array of its results', () => {
    const resultWith = (result?: string) =>
      stateOf(resolveOpenEdit(saga, lines, 0, { step: 'ship', result }))?.steps.get('ship');
    expect(resultWith('["a","b"]')).toMatchObject({ status: 'completed', result: '["a","b"]' });
    expect(resultWith()).toMatchObject({ status: 'completed', result: '[]' });
    expect(() => resultWith('"a"')).toThrow(/its result is the array of their results/);
  });

  it('has nothing to undo then, and no compensation is called without an item', () => {
    const resolved = stateOf(resolveOpenEdit(saga, lines, 0, { step: 'ship' }))!;
    const undone = evolve(lines, resolved, { type: 'cancelled', accepted: true, now: 0 });
    expect(undone.status).toBe('compensating');
    expect(decide(lines, undone, 0).actions.map(({ kind, key }) => `${kind} ${key}`)).toEqual([
      'compensate pay',
    ]);
  });
});

test('a fan-out is not resolved or abandoned as a whole: the error names its items', () => {
  const each = graphOf(stepOf('ship', { forEach: () => [1, 2] }));
  const saga = sagaWith({ ship: { status: 'running', items: ['1', '2'] } });
  expect(() => resolveOpenEdit(saga, each, 0, { step: 'ship' })).toThrow(
    /its items are resolved one by one. It could be: ship\[0\], ship\[1\]/,
  );
});
