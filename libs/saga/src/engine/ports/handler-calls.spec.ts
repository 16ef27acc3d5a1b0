import { INITIAL, PENDING, type SagaState, type StepState } from '../../machine/saga-state.js';
import { handlerFailure, handlerInvoker, newHandlerCall, withdrawEdit } from './handler-calls.js';
import type { StoredSaga } from './stored-saga.js';

function stored(given: Partial<StoredSaga> = {}, state: Partial<SagaState> = {}): StoredSaga {
  return {
    ...{ id: 'run', name: 'handler:stock', version: 1, priority: 0, epoch: 0, checkpoints: 0 },
    ...{ takeovers: 0, losses: 0, createdAt: 0, updatedAt: 0, stepTimes: new Map() },
    ...given,
    state: { ...INITIAL, ...state },
  };
}
const step = (given: Partial<StepState>) => new Map([['stock', { ...PENDING, ...given }]]);

describe('what a handler is called with', () => {
  const caller = stored({ id: 'order', name: 'place-order', correlationId: 'order-7' });
  const made = (input?: string, from = caller) =>
    newHandlerCall({ name: 'stock', version: 2 }, from, 'reserve', input);

  it('is the input, and whose work it is, as the saga of the handler is stored', () => {
    expect(made('{"sku":"cup"}')).toEqual({
      name: 'handler:stock',
      version: 2,
      step: 'stock',
      input: '{"sagaId":"order","correlationId":"order-7","step":"reserve","input":{"sku":"cup"}}',
    });
    expect(made(undefined, stored({ id: 'order' })).input).toBe(
      '{"sagaId":"order","correlationId":"order","step":"reserve"}',
    );
  });

  it('is what its methods see, and nothing of the saga in which it runs', () => {
    const seen: [string, object][] = [];
    const invoke = handlerInvoker('stock', 'reserve', (method, context) => seen.push([method, context]));
    const context = () => ({ sagaId: 'run', attempt: 2, input: JSON.parse(made('7').input!) as object });
    invoke('stock', context());
    invoke('release', context());
    const expected = { sagaId: 'order', correlationId: 'order-7', step: 'reserve', input: 7, attempt: 2 };
    expect(seen).toEqual([
      ['reserve', expected],
      ['release', expected],
    ]);
  });
});

describe('a withdrawn call of a handler', () => {
  it('ends immediately if no attempt of it has started', () => {
    expect(withdrawEdit(stored(), 'why')).toMatchObject({
      state: { status: 'compensated', failure: { kind: 'cancelled', reason: 'why' } },
      due: false,
    });
    // An operator cancelled it before.
    const failure = { kind: 'cancelled', reason: 'before' } as const;
    expect(withdrawEdit(stored({}, { status: 'compensating', failure }), 'why')).toMatchObject({
      state: { status: 'compensated', failure },
    });
  });

  test.each<[string, StoredSaga]>([
    ['it is held by a worker, or was when that was lost', stored({ lockedBy: 'w' })],
    ['an attempt of it was made', stored({}, { steps: step({ attempts: 1, status: 'waiting' }) })],
    ['an attempt of it may have been made', stored({}, { steps: step({ unknown: true }) })],
    ['it needs an operator', stored({}, { status: 'stuck', heldPhase: 'running' })],
    ['it has ended', stored({}, { status: 'completed' })],
    ['it is no handler’s', stored({ name: 'shipment' })],
  ])('is rolled back like any other saga if %s', (_, saga) => {
    expect(withdrawEdit(saga, 'why')).toBeUndefined();
  });
});

describe('a handler that failed', () => {
  it.each(['error', 'rejected', 'timeout'] as const)('has failed as it says: %s', (kind) => {
    const error = { name: 'TypeError', message: 'broken' };
    const saga = stored({}, { status: 'compensated', failure: { kind, step: 'stock', error } });
    expect(handlerFailure('stock', saga)).toEqual({ kind, error });
  });

  it('because an operator ended it has an error that names the cause', () => {
    const saga = stored({}, { status: 'compensated', failure: { kind: 'cancelled', reason: 'manual' } });
    expect(handlerFailure('stock', saga)).toEqual({
      error: {
        name: 'RemoteStepFailedError',
        message: "Handler 'stock' version 1 (run) was compensated: manual",
      },
    });
  });
});
