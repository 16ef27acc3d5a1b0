import { describeOperation, withoutGiven } from './describe-operation.js';
import type { HistoryEntry } from './saga-history.js';
import type { SagaSnapshot, StepSnapshot } from './saga-snapshot.js';
import { timelineOf } from './timeline.js';

const time = (seconds: number) => new Date(1_700_000_000_000 + seconds * 1_000);

function step(name: string, given: Partial<StepSnapshot> = {}): StepSnapshot {
  return {
    ...{
      name,
      status: 'completed',
      attempts: 1,
      compensationAttempts: 0,
      unknown: false,
      round: 1,
      errors: [],
    },
    ...given,
  };
}

function saga(steps: readonly StepSnapshot[], given: Partial<SagaSnapshot> = {}): SagaSnapshot {
  return {
    ...{ id: 'a', saga: 'order', version: 1, status: 'running', revision: 1, correlationId: 'a', input: {} },
    ...{ priority: 0, tags: {}, step: '', steps, round: 1, overdue: false },
    ...{ createdAt: time(0), updatedAt: time(90) },
    ...given,
  };
}

const texts = (...parameters: Parameters<typeof timelineOf>) =>
  timelineOf(...parameters).map(({ at, text }) => [(at.getTime() - time(0).getTime()) / 1_000, text]);
const error = (attempt: number, at: number, during: 'step' | 'compensation' = 'step') => ({
  ...{ attempt, at: time(at).toISOString(), during, name: 'Error', message: 'no carrier' },
});

describe('the timeline of a saga', () => {
  test('has its start, the start and the end of each step, and its end', () => {
    const steps = [
      step('reserve', { startedAt: time(1), updatedAt: time(2) }),
      step('ship', { attempts: 2, errors: [error(1, 4)], startedAt: time(3), updatedAt: time(6) }),
      step('gift', { status: 'skipped', attempts: 0, updatedAt: time(6) }),
      step('later', { status: 'pending', attempts: 0 }),
    ];
    expect(texts(saga(steps, { status: 'completed', finishedAt: time(6) }))).toEqual([
      [0, 'the saga was started'],
      [1, 'reserve began'],
      [2, 'reserve completed'],
      [3, 'ship began'],
      [4, 'ship failed at attempt 1'],
      [6, 'ship completed at attempt 2'],
      [6, 'gift was skipped'],
      [6, 'the saga completed'],
    ]);
  });

  test('has what one millisecond holds in the order of a rollback: steps, their compensations in reverse, the saga', () => {
    const undone = {
      status: 'compensated',
      compensationAttempts: 1,
      startedAt: time(1),
      updatedAt: time(2),
    } as const;
    const steps = [
      step('reserve', {
        ...{ status: 'compensation_failed', compensationAttempts: 2, startedAt: time(1), updatedAt: time(2) },
        errors: [error(1, 2, 'compensation'), error(2, 2, 'compensation')],
      }),
      step('charge', undone),
      step('label', undone),
      step('ship', { status: 'failed', errors: [error(1, 2)], startedAt: time(2), updatedAt: time(2) }),
    ];
    const stuck = saga(steps, { status: 'stuck', updatedAt: time(2) });
    expect(texts(stuck).slice(4)).toEqual([
      [2, 'ship began'],
      [2, 'ship failed at attempt 1'],
      [2, 'label was compensated'],
      [2, 'charge was compensated'],
      [2, 'compensation of reserve failed at attempt 1'],
      [2, 'compensation of reserve failed at attempt 2'],
      [2, 'reserve could not be compensated'],
      [2, 'the saga is stuck'],
    ]);
  });

  test('has lost attempts, the workers that took over, and the attempt in progress', () => {
    const lost = [
      {
        attempt: 1,
        during: 'step',
        worker: 'w1',
        startedAt: time(1),
        lostAt: time(31),
        takenOverAt: time(32),
      },
      { attempt: 2, during: 'step', lostAt: time(40) },
    ] as const;
    const running = step('ship', { status: 'running', attempts: 3, lost, runningSince: time(41) });
    expect(texts(saga([{ ...running, startedAt: time(1) }]))).toEqual([
      [0, 'the saga was started'],
      [1, 'ship, attempt 1 began on worker w1'],
      [31, 'ship, attempt 1 was lost: the lease of worker w1 expired'],
      [32, 'ship, attempt 1: another worker took over'],
      [40, 'ship, attempt 2 was lost: its worker was shut down'],
      [41, 'ship, attempt 3 began'],
    ]);
  });

  test('has compensations, their errors, and that the saga needs an operator', () => {
    const compensated = step('charge', { status: 'compensated', startedAt: time(1), updatedAt: time(8) });
    const failed = step('reserve', {
      ...{ status: 'compensation_failed', compensationAttempts: 1, errors: [error(1, 9, 'compensation')] },
      ...{ startedAt: time(2), updatedAt: time(9) },
    });
    const entries = timelineOf(saga([compensated, failed], { status: 'stuck', updatedAt: time(9) }));
    expect(entries.map(({ text }) => text).slice(3)).toEqual([
      'charge was compensated',
      'compensation of reserve failed at attempt 1',
      'reserve could not be compensated',
      'the saga is stuck',
    ]);
    expect(entries[4]).toMatchObject({ kind: 'attempt-failed', step: 'reserve', during: 'compensation' });
    expect(entries[4]!.error).toMatchObject({ message: 'no carrier' });
  });

  test('does not say twice that a step failed, and says it once of a step without errors', () => {
    const ended = { status: 'failed', startedAt: time(1), updatedAt: time(2) } as const;
    expect(texts(saga([step('ship', { ...ended, errors: [error(1, 2)] })])).slice(2)).toEqual([
      [2, 'ship failed at attempt 1'],
    ]);
    expect(texts(saga([step('ship', ended)])).slice(2)).toEqual([[2, 'ship failed']]);
  });

  test('starts a step after the step before it, and before its first error, whose process may have an earlier clock', () => {
    const before = step('charge', { startedAt: time(1), updatedAt: time(3) });
    const early = step('ship', { status: 'waiting', errors: [error(1, 2)], startedAt: time(3) });
    expect(texts(saga([before, early]))).toEqual([
      [0, 'the saga was started'],
      [1, 'charge began'],
      [3, 'charge completed'],
      [3, 'ship began'],
      [3, 'ship failed at attempt 1'],
    ]);
  });

  test('has the items of a step, and how long each took', () => {
    const item = step('weigh[0]', { startedAt: time(1), updatedAt: time(3) });
    const entries = timelineOf(saga([step('weigh', { attempts: 0, items: [item], updatedAt: time(4) })]));
    expect(entries[2]).toEqual({
      ...{ at: time(3), kind: 'step', step: 'weigh[0]', status: 'completed' },
      ...{ text: 'weigh[0] completed', attempt: 1, durationMs: 2_000 },
    });
  });

  test('has what operators did, at its time, if the history is given', () => {
    const retried: HistoryEntry = {
      ...{ at: time(5), action: 'retry', by: 'ann', reason: 'repaired', from: 'stuck' },
      ...{ proposed: false, newInput: false },
    };
    const entries = timelineOf(saga([step('ship', { startedAt: time(1), updatedAt: time(7) })]), [retried]);
    expect(entries.map(({ kind }) => kind)).toEqual(['saga', 'step', 'operation', 'step']);
    expect(entries[2]!.text).toBe('retried by ann, while stuck: repaired');
  });
});

describe('an operator action', () => {
  const entry = (given: Partial<HistoryEntry>): HistoryEntry => ({
    ...{ at: time(0), action: 'resolve', proposed: false, newInput: false },
    ...given,
  });

  test.each([
    [{ action: 'signal', signal: 'paid' }, "sent the signal 'paid'"],
    [
      { action: 'resolve', step: 'ship', by: 'ann', result: { a: 1 } },
      'ship resolved with the result {"a":1} by ann',
    ],
    [{ action: 'retry', newInput: true, input: 'b' }, 'retried with another input "b"'],
    [{ action: 'abort', proposed: true, by: 'ann', from: 'running' }, 'abort proposed by ann, while running'],
  ] as const)('%o is described', (given, text) => {
    expect(describeOperation(entry(given))).toBe(text);
  });

  test('can be described without what it was given', () => {
    expect(describeOperation(withoutGiven(entry({ step: 'ship', result: 'secret' })))).toBe('ship resolved');
  });
});
