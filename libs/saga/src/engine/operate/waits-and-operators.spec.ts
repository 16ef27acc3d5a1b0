import { approvalSignal } from '../../definition/graph/saga-graph.js';
import { graphOf, stepOf } from '../../../../../test/fixtures/graph-of.js';
import { INITIAL, PENDING, type SagaState, type StepState } from '../../machine/saga-state.js';
import { decisionEdit } from './approvals.js';
import { withPendingSignals } from './edit-by-events.js';
import { cancelEdit, retryEdit } from './operator-edits.js';
import { SAGA } from '../../../../../test/fixtures/run-of.js';
import type { StoredSaga } from '../ports/stored-saga.js';

const stateWith = (steps: Record<string, StepState>, given: Partial<SagaState> = {}): SagaState => ({
  ...INITIAL,
  ...given,
  steps: new Map(Object.entries(steps)),
});

describe('a saga that is retried long after its wait expired', () => {
  const graph = graphOf(
    stepOf('pay'),
    stepOf('reply', { kind: 'signal', wait: { signal: 'reply', timeout: 500 } }),
  );
  const stuck = stateWith(
    {
      pay: { ...PENDING, status: 'failed', attempts: 1, failures: 1 },
      reply: { ...PENDING, status: 'waiting', wait: { signal: 'reply', until: 500 } },
    },
    { status: 'stuck', heldPhase: 'running' },
  );
  const triedAgain = (signals: StoredSaga['signals']) => {
    const edit = retryEdit({ ...SAGA, state: stuck, signals }, graph, 9_000, {});
    return edit && 'state' in edit ? edit.state : undefined;
  };

  it('takes the signal that arrived in time, while the saga needed an operator', () => {
    const state = triedAgain([{ number: 4, name: 'reply', messageId: 'm', payload: '1', at: 499 }]);
    expect(state?.status).toBe('running');
    expect(state?.steps.get('reply')?.wait).toMatchObject({ takenSignal: 4, payload: '1' });
  });

  it.each([
    ['arrived', undefined],
    ['arrived in time', [{ number: 4, name: 'reply', messageId: 'm', payload: '1', at: 500 }]],
  ])('rolls back if no signal %s', (_, signals) => {
    expect(triedAgain(signals)).toMatchObject({ status: 'compensating', failure: { kind: 'timeout' } });
  });
});

describe('a signal that two steps wait for', () => {
  it('is given to the one whose time was not over when it came', () => {
    const graph = graphOf(
      stepOf('early', { kind: 'signal', wait: { signal: 'x' } }),
      stepOf('late', { kind: 'signal', wait: { signal: 'x' } }),
    );
    const until = (time: number) =>
      ({ ...PENDING, status: 'waiting', wait: { signal: 'x', until: time } }) as const;
    const state = stateWith({ early: until(500), late: until(900) });
    const signals = [{ number: 1, name: 'x', messageId: 'm', at: 700 }];
    const { steps } = withPendingSignals(graph, state, { ...SAGA, state, signals }, 9_000);
    expect([steps.get('early')?.wait?.takenSignal, steps.get('late')?.wait?.takenSignal]).toEqual([
      undefined,
      1,
    ]);
  });
});

describe('what was approved, and goes on,', () => {
  const graph = graphOf(stepOf('ask', { kind: 'approval', wait: { signal: approvalSignal('ask') } }));
  const decision = { approved: false, by: 'Ben' };
  const decide = (step: Partial<StepState>) => () =>
    decisionEdit({ ...SAGA, state: stateWith({ ask: { ...PENDING, ...step } }) }, graph, 9_000, {
      ...{ step: 'ask', decision, messageId: 'm2' },
    });
  const wait = { signal: approvalSignal('ask'), takenSignal: 1 };

  it.each([
    ['waits for another attempt', { status: 'waiting', attempts: 1, retryAt: 100, wait }],
    ['was lost with its worker', { status: 'pending', attempts: 1, wait }],
  ] as const)('cannot be rejected any more when it %s', (_, step) => {
    expect(decide(step)).toThrow(expect.objectContaining({ code: 'SAGA_STATE' }));
  });

  it('can while it is asked for', () => {
    expect(decide({ status: 'waiting', wait: { signal: approvalSignal('ask') } })()).toMatchObject({
      signal: { messageId: 'm2' },
    });
  });
});

describe('a saga of which nothing is recorded', () => {
  const cancelled = (given: Partial<StoredSaga>) =>
    cancelEdit({ ...SAGA, ...given }, graphOf(stepOf('pay', { compensate: 'refund' })), 1, {});

  it('ends with the call that cancels it', () => {
    expect(cancelled({})).toMatchObject({ state: { status: 'compensated' }, step: '', due: false });
  });

  it('is left to a worker if one was lost, which may have begun something', () => {
    expect(cancelled({ takeovers: 1 })).toMatchObject({ state: { status: 'compensating' }, due: true });
  });
});
