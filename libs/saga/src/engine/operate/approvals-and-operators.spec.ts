import { graphOf, stepOf } from '../../../../../test/fixtures/graph-of.js';
import { SAGA } from '../../../../../test/fixtures/run-of.js';
import { approvalSignal } from '../../definition/graph/saga-graph.js';
import { INITIAL, PENDING, type SagaState, type StepState } from '../../machine/saga-state.js';
import type { ChangingCall } from '../ports/call-table.js';
import type { Edit } from '../ports/saga-store.js';
import type { StoredSaga } from '../ports/stored-saga.js';
import { decisionEdit } from './approvals.js';
import {
  abortEdit,
  cancelEdit,
  pauseEdit,
  resolveEdit,
  resumeEdit,
  retryEdit,
  undoEdit,
  rescheduleEdit,
} from './operator-edits.js';
import { abandonEdit, retryNowEdit } from './way-out-edits.js';

const NOW = 5_000;
const signal = approvalSignal('allow');
const error = { name: 'AttemptAbandonedError', message: 'it hangs' };
const by = (approved: boolean) => ({
  ...{ step: 'allow', messageId: 'm', decision: { approved, by: 'ann' } },
});

type Call = (saga: StoredSaga, graph: Parameters<typeof resolveEdit>[1]) => Edit | undefined;

/** A call that is added does not compile here until it is named. */
const CALLS: Readonly<Record<ChangingCall, Call>> = {
  cancel: (saga, graph) => cancelEdit(saga, graph, NOW, {}),
  abort: (saga, graph) => abortEdit(saga, graph, NOW, {}),
  undo: (saga, graph) => undoEdit(saga, graph, NOW, {}),
  pause: (saga, graph) => pauseEdit(saga, graph, NOW),
  resume: (saga, graph) => resumeEdit(saga, graph, NOW),
  retry: (saga, graph) => retryEdit(saga, graph, NOW, {}),
  retryNow: (saga, graph) => retryNowEdit(saga, graph, NOW, {}),
  approve: (saga, graph) => decisionEdit(saga, graph, NOW, by(true)),
  reject: (saga, graph) => decisionEdit(saga, graph, NOW, by(false)),
  resolve: (saga, graph) => resolveEdit(saga, graph, NOW, { step: 'allow', result: '{}', force: true }),
  abandon: (saga, graph) => abandonEdit(saga, graph, NOW, { step: 'allow', error, random: 0 }),
  reschedule: (saga, graph) => rescheduleEdit(saga, graph, NOW, { step: 'allow', at: () => NOW }),
};

/** Undefined: the saga's state does not allow it. */
function tried(call: () => Edit | undefined): Edit | undefined {
  try {
    return call();
  } catch (refusal) {
    if ((refusal as { code?: string }).code !== 'SAGA_STATE') throw refusal;
    return undefined;
  }
}

const approval = (onFailure?: 'continue') =>
  stepOf('allow', { kind: 'approval', wait: { signal, timeout: 9_000, quorum: 2 }, ...{ onFailure } });
const graphs = {
  required: graphOf(approval(), stepOf('pay', { after: ['allow'] })),
  optional: graphOf(approval('continue'), stepOf('pay', { after: ['allow'] })),
};

const stateWith = (allow: Partial<StepState>, given: Partial<SagaState> = {}): SagaState => ({
  ...INITIAL,
  ...given,
  steps: new Map([['allow', { ...PENDING, ...allow }]]),
});
const held = { status: 'suspended', heldPhase: 'running' } as const;
const failed = { status: 'failed', failures: 1 } as const;
const asked = { signal, until: 9_000, quorum: 2 };
/** However it stands without a decision. */
const UNDECIDED: Readonly<Record<string, SagaState>> = {
  'has not begun': stateWith({}),
  'is delayed': stateWith({ status: 'waiting', retryAt: 9_000 }),
  'is asked for': stateWith({ status: 'waiting', wait: asked }),
  'was asked for in vain': stateWith(failed, held),
  'was asked for in vain, and is left to an operator': stateWith(failed, { ...held, status: 'stuck' }),
  'is asked for, of a paused saga': stateWith(
    { status: 'waiting', wait: asked },
    { ...held, status: 'paused' },
  ),
  'has not begun, of a saga that lost its workers': stateWith({}, { ...held, status: 'stuck' }),
};
const elsewhere = [['here', true] as const, ['elsewhere', false] as const];
const kinds = Object.keys(graphs) as (keyof typeof graphs)[];

describe.each(kinds)('a %s approval', (kind) => {
  describe.each(elsewhere)('of a saga that is known %s', (_, isKnown) => {
    it.each(Object.entries(UNDECIDED))(
      'which %s is not completed by any call of an operator',
      (_state, state) => {
        for (const [name, call] of Object.entries(CALLS)) {
          for (const lockedBy of [undefined, 'worker']) {
            const edit = tried(() => call({ ...SAGA, state, lockedBy }, isKnown ? graphs[kind] : undefined));
            const after = edit && 'state' in edit ? edit.state.steps.get('allow')?.status : undefined;
            expect([name, after]).not.toEqual([name, 'completed']);
          }
        }
      },
    );
  });
});

it('the refusal says what to call', () => {
  const saga = { ...SAGA, state: UNDECIDED['is asked for']! };
  expect(() => CALLS.resolve(saga, graphs.required)).toThrow(
    /it is an approval, and was not approved\. Call approve\(\) or reject\(\)/,
  );
  const suspended = { ...SAGA, state: UNDECIDED['was asked for in vain']! };
  expect(() => CALLS.resolve(suspended, graphs.required)).toThrow(/if it has failed, call retry\(\) first/);
  expect(() => CALLS.resolve(suspended, undefined)).toThrow(
    /this process does not have .*cannot determine whether the step is an approval/,
  );
});

describe('an approval that was given, and whose method', () => {
  const wait = { signal, takenSignal: 1, payload: '{}' };

  it('fails, can be resolved', () => {
    const saga = { ...SAGA, state: stateWith({ ...failed, attempts: 1, wait }, held) };
    const edit = CALLS.resolve(saga, graphs.required) as { state: SagaState };
    expect(edit.state.steps.get('allow')).toMatchObject({ status: 'completed', result: '{}' });
  });

  it('hangs, can be resolved', () => {
    const saga = { ...SAGA, lockedBy: 'worker', state: stateWith({ status: 'waiting', wait }) };
    const edit = CALLS.resolve(saga, graphs.required) as { state: SagaState };
    expect(edit.state.steps.get('allow')).toMatchObject({ status: 'completed', result: '{}' });
  });
});
