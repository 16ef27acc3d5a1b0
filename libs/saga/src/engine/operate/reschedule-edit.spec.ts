import { graphOf, stepOf } from '../../../../../test/fixtures/graph-of.js';
import { SAGA } from '../../../../../test/fixtures/run-of.js';
import { INITIAL, PENDING, type StepState } from '../../machine/saga-state.js';
import type { StoredSaga } from '../ports/stored-saga.js';
import { rescheduleEdit } from './operator-edits.js';

const graph = graphOf(stepOf('pay', { delay: 1_000 }));
const delayed = { status: 'waiting', retryAt: 9_000 } as const;

function sagaWith(pay: Partial<StepState>, given: Partial<StoredSaga> = {}): StoredSaga {
  return { ...SAGA, state: { ...INITIAL, steps: new Map([['pay', { ...PENDING, ...pay }]]) }, ...given };
}

function moved(saga: StoredSaga, at: number) {
  const edit = rescheduleEdit(saga, graph, 5_000, { step: 'pay', at: () => at });
  return edit && 'state' in edit ? edit.state.steps.get('pay') : undefined;
}

describe('a step that is rescheduled', () => {
  it('waits for the new time, which is not over before it is set', () => {
    expect(moved(sagaWith(delayed), 20_000)).toMatchObject({ status: 'waiting', retryAt: 20_000 });
    expect(moved(sagaWith(delayed), 0)).toMatchObject({ status: 'waiting', retryAt: 5_000 });
  });

  it('is refused, with what it does, when it waits for no time of its own', () => {
    expect(() => moved(sagaWith({ ...delayed, permit: 9_000 }), 0)).toThrow(/it waits for its rate limit/);
    expect(() => moved(sagaWith({ status: 'completed' }), 0)).toThrow(/it is completed/);
    const child = { id: 'other', phase: 'running' } as const;
    expect(() => moved(sagaWith({ status: 'waiting', child }), 0)).toThrow(/it waits for saga other/);
  });
});
