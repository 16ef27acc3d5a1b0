import fc from 'fast-check';
import type { AttemptError } from '../definition/types/saga-failure.js';
import { attemptOfFailure, failureOf, withError } from './attempt-errors.js';
import { INITIAL, PENDING, type SagaState, type StepState } from './saga-state.js';
import { MOST_NOTES, noteChanges, noteOf, type StepNotes, withNote, withoutNotes } from './step-notes.js';

const DOWN = {
  name: 'Error',
  message: 'down',
  stack: 'Error: down\n    at pay',
  cause: { name: 'E', message: 'c' },
};
const DONE: StepState = { ...PENDING, status: 'completed', attempts: 1, result: '1' };
const COMPENSATED: StepState = { ...DONE, status: 'compensated', compensationAttempts: 1 };

function failed(step: StepState, error: { name: string; message: string } = DOWN, at = 1_000): StepState {
  const begun = { ...step, attempts: step.attempts + 1 };
  return {
    ...begun,
    ...{ status: 'waiting', failures: step.failures + 1, retryAt: at + 200 },
    errors: withError(begun, error, at, 'step'),
  };
}

const stateOf = (steps: Record<string, StepState>): SagaState => ({
  ...INITIAL,
  steps: new Map(Object.entries(steps)),
});

describe('a note', () => {
  test('has the end of a compensation', () => {
    expect(noteOf(DONE, COMPENSATED, 7)).toEqual({ at: 7, status: 'compensated', compensationAttempts: 1 });
    expect(withNote(DONE, noteOf(DONE, COMPENSATED, 7)!)).toEqual(COMPENSATED);
  });

  test('has an attempt that failed with the error before it, without a copy of the error', () => {
    const once = failed(PENDING);
    const twice = failed(once, { ...DOWN }, 5_000);
    const note = noteOf(once, twice, 7)!;
    expect(note).toEqual({ at: 7, attempts: 2, failures: 2, retryAt: 5_200, repeats: [[2, 5_000, 'step']] });
    expect(withNote(once, note)).toEqual(twice);
    expect(twice.errors).toHaveLength(2);
  });

  test('adds up, whatever number of errors a step keeps', () => {
    const row = failed(PENDING);
    let [step, note] = [row, undefined as ReturnType<typeof noteOf>];
    for (let n = 0; n < 12; n += 1) {
      const next = failed(step, DOWN, 2_000 + n);
      note = noteOf(step, next, n, note)!;
      step = next;
      expect(withNote(row, note)).toEqual(step);
    }
    expect(note!.repeats).toHaveLength(5);
  });

  test('says that a step does not wait any more', () => {
    const waiting = failed(PENDING);
    const over = { ...waiting, status: 'failed', retryAt: undefined } as const;
    const note = noteOf(waiting, over, 7)!;
    expect(withNote(waiting, JSON.parse(JSON.stringify(note)) as typeof note)).toEqual(over);
  });

  test.each<[string, StepState, StepState]>([
    ['a result', PENDING, DONE],
    ['the first error', PENDING, failed(PENDING)],
    ['another message', failed(PENDING), failed(failed(PENDING), { ...DOWN, message: 'up' })],
    [
      'another cause',
      failed(PENDING),
      failed(failed(PENDING), { ...DOWN, cause: { name: 'E', message: 'd' } } as never),
    ],
    ['no cause', failed(PENDING), failed(failed(PENDING), { ...DOWN, cause: undefined } as never)],
    ['errors that are gone', failed(PENDING), { ...failed(PENDING), errors: [] }],
    ['a wait', DONE, { ...DONE, wait: { signal: 'paid' } }],
    ['another round', DONE, { ...PENDING, round: 2 }],
    ['a saga that it started', DONE, { ...DONE, child: { id: 'a', phase: 'undoing' } }],
    ['a lost attempt', DONE, { ...DONE, lost: [] }],
  ])('has no room for %s', (_, before, after) => {
    expect(noteOf(before, after, 7)).toBeUndefined();
  });

  test('that is made gives the step back, whatever has changed', () => {
    const step = fc.record({
      status: fc.constantFrom<StepState['status']>('waiting', 'failed', 'compensating', 'compensated'),
      attempts: fc.nat(3),
      failures: fc.nat(3),
      unknown: fc.boolean(),
      compensationAttempts: fc.nat(3),
      compensationFailures: fc.nat(3),
      retryAt: fc.option(fc.nat(), { nil: undefined }),
      active: fc.boolean(),
    });
    const kinds = fc.array(fc.constantFrom('down', 'up'), { maxLength: 8 });
    fc.assert(
      fc.property(fc.array(fc.tuple(step, kinds), { minLength: 2, maxLength: 6 }), (changes) => {
        let row = DONE;
        let [saved, note] = [row, undefined as ReturnType<typeof noteOf>];
        changes.forEach(([values, errors], n) => {
          let next: StepState = { ...saved, ...values };
          for (const message of errors)
            next = { ...next, errors: withError(next, { ...DOWN, message }, n, 'compensation') };
          note = noteOf(saved, next, n, note);
          if (!note) row = next;
          const stored = note ? withNote(row, note) : row;
          expect({ ...stored, active: false }).toEqual({ ...next, active: false });
          saved = next;
        });
      }),
    );
  });
});

describe('the notes of a saga', () => {
  const many = (count: number, step: StepState) =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [`s${n}`, step] as const));
  const noteAll = (count: number, notes?: StepNotes) =>
    noteChanges(
      [stateOf(many(count, DONE)), stateOf(many(count, COMPENSATED))],
      Object.keys(many(count, DONE)),
      notes,
      7,
    );

  test('are made of steps that have a row only', () => {
    const state = stateOf({ a: COMPENSATED, b: failed(PENDING) });
    expect(noteChanges([stateOf({ a: DONE }), state], ['a', 'b'], undefined, 7)).toEqual({
      changed: ['a', 'b'],
      notes: new Map([['a', { at: 7, status: 'compensated', compensationAttempts: 1 }]]),
    });
    expect(noteChanges([INITIAL, state], ['a', 'b'], undefined, 7).notes).toBeUndefined();
  });

  test('stay while other steps change, and go when the row of their step is written', () => {
    const { notes } = noteAll(2);
    const [before, after] = [stateOf(many(2, COMPENSATED)), { ...many(2, COMPENSATED), s1: DONE, s2: DONE }];
    expect(noteChanges([before, stateOf(after)], ['s2'], notes, 9).notes).toEqual(notes);
    const again = { ...COMPENSATED, round: 2 };
    expect(noteChanges([before, stateOf({ ...after, s1: again })], ['s1'], notes, 9).notes).toEqual(
      new Map([['s0', notes!.get('s0')]]),
    );
    expect(withoutNotes(notes, ['s1'])).toEqual(new Map([['s0', notes!.get('s0')]]));
    expect(withoutNotes(notes, ['s0', 's1'])).toBeUndefined();
    expect(withoutNotes(undefined, ['s0'])).toBeUndefined();
  });

  test(`become rows, all of them, when there would be more than ${MOST_NOTES}`, () => {
    const { notes } = noteAll(MOST_NOTES);
    expect(notes?.size).toBe(MOST_NOTES);
    const steps = many(MOST_NOTES, COMPENSATED);
    const [before, after] = [stateOf({ ...steps, last: DONE }), stateOf({ ...steps, last: COMPENSATED })];
    const { changed, notes: left } = noteChanges([before, after], ['last'], notes, 9);
    expect(left).toBeUndefined();
    expect([...changed].sort()).toEqual([...Object.keys(steps), 'last'].sort());
    expect(changed[0]).toBe('last');
  });
});

describe('the failure of a saga', () => {
  const step = failed(failed(PENDING, { ...DOWN, message: 'up' }));
  const error = { ...DOWN };
  const state: SagaState = { ...stateOf({ pay: step }), failure: { kind: 'error', step: 'pay', error } };

  test('is the error of an attempt that the step keeps', () => {
    expect(attemptOfFailure(state)).toBe(2);
    expect(failureOf({ kind: 'error', step: 'pay', attempt: 2 }, state.steps)).toEqual(state.failure);
  });

  test.each<[string, SagaState]>([
    ['there is none', { ...state, failure: undefined }],
    ['no step failed', { ...state, failure: { kind: 'timeout', reason: 'late' } }],
    [
      'its step has no such error',
      { ...state, failure: { ...state.failure!, error: { ...error, code: '7' } } },
    ],
    ['it is the error of a compensation', { ...state, steps: withDuring(step, 'compensation') }],
    [
      'a later attempt has the same number',
      { ...state, steps: withDuring(step, 'step', { attempt: 2, message: 'x' }) },
    ],
  ])('is no attempt’s if %s', (_, given) => {
    expect(attemptOfFailure(given)).toBeUndefined();
  });

  test('is without an error where its step is not read', () => {
    expect(failureOf({ kind: 'error', step: 'pay', attempt: 2 }, new Map())).toEqual({
      kind: 'error',
      step: 'pay',
    });
  });

  function withDuring(of: StepState, during: AttemptError['during'], more?: Partial<AttemptError>) {
    const errors = of.errors.map((one) => ({ ...one, during }));
    return new Map([['pay', { ...of, errors: more ? [...errors, { ...errors[1]!, ...more }] : errors }]]);
  }
});
