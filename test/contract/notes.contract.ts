import type { SagaFailure } from '../../libs/saga/src/definition/types/saga-failure.js';
import type { Checkpoint } from '../../libs/saga/src/engine/ports/checkpoint.js';
import type { StepNotes } from '../../libs/saga/src/machine/step-notes.js';
import {
  checkpointOf,
  claimed,
  held,
  loaded,
  savedBy,
  stateOf,
  stepOf,
  type StoreSubject,
} from './store-subject.contract.js';

const DONE = stepOf({ result: '"kept"' });
const COMPENSATED = stepOf({ result: '"kept"', status: 'compensated', compensationAttempts: 1 });
const DOWN = {
  name: 'Error',
  message: 'down',
  code: '7',
  stack: 'at pay',
  cause: { name: 'E', message: 'c' },
};
const FAILED = { ...DOWN, attempt: 1, at: '2026-01-02T03:04:05.678Z', during: 'step' } as const;

/** The steps' rows and the notes differ in these tests, so that what is read shows where it is from. */
export function describeNotes(subject: () => StoreSubject): void {
  const saved = (checkpoint: Checkpoint) => savedBy(subject().store, checkpoint);
  const compensatedAt = (at: number): StepNotes =>
    new Map([['a', { at, status: 'compensated', compensationAttempts: 1 }]]);

  describe('the notes of a saga', () => {
    test.each([1, 2])('are read with the rows of %d step(s), which are not written', async (count) => {
      const saga = await held(subject().store);
      const others = Object.fromEntries(
        Array.from({ length: count - 1 }, (_, n) => [`other${n}`, stepOf({ result: '2' })] as const),
      );
      await saved(checkpointOf(saga, stateOf('running', { a: DONE, ...others })));
      const notes = compensatedAt(5_000);
      const state = stateOf('compensating', { a: { ...COMPENSATED, result: '"not written"' }, ...others });
      const read = await saved(checkpointOf(saga, state, { notes }));
      expect(read.state.steps).toEqual(new Map(Object.entries({ a: COMPENSATED, ...others })));
      expect(read.notes).toEqual(notes);
      expect(read.stepTimes.get('a')?.updatedAt).toBe(saga.createdAt + 5_000);
      expect(read.stepTimes.get('a')?.startedAt).toBeLessThan(saga.createdAt + 4_000);
    });

    test('are read by who claims the saga, and by who waits for it', async () => {
      const saga = await held(subject().store);
      await saved(checkpointOf(saga, stateOf('running', { a: DONE })));
      const state = stateOf('compensating', { a: COMPENSATED });
      const release = { dueAt: saga.createdAt };
      const notes = compensatedAt(7);
      await saved(checkpointOf(saga, state, { notes, release }));
      const { sagas } = await claimed(subject().store, saga.name);
      expect(sagas[0]!.state).toEqual(state);
      expect(sagas[0]!.notes).toEqual(notes);
      const ended = {
        ...checkpointOf(sagas[0]!, { ...state, status: 'compensated' }, { notes, release: {} }),
      };
      await saved({ ...ended, changed: [] });
      expect((await subject().store.ended([saga.id]))[0]!.state.steps).toEqual(state.steps);
    });

    test('have what a retry changes, and the errors that repeat', async () => {
      const saga = await held(subject().store);
      const waiting = stepOf({ status: 'waiting', failures: 1, retryAt: 1_000, errors: [FAILED] });
      await saved(checkpointOf(saga, stateOf('running', { a: waiting })));
      const at = Date.parse('2026-01-02T03:05:00.001Z');
      const notes: StepNotes = new Map([
        ['a', { at, attempts: 2, failures: 2, unknown: true, retryAt: null, repeats: [[2, at, 'step']] }],
      ]);
      const { state } = await saved(checkpointOf(saga, stateOf('running', { a: waiting }), { notes }));
      const again = { ...FAILED, attempt: 2, at: '2026-01-02T03:05:00.001Z' };
      const expected = {
        attempts: 2,
        failures: 2,
        unknown: true,
        retryAt: undefined,
        errors: [FAILED, again],
      };
      expect(state.steps.get('a')).toEqual({ ...waiting, ...expected });
    });

    test('are replaced by those of the next checkpoint', async () => {
      const saga = await held(subject().store);
      await saved(checkpointOf(saga, stateOf('running', { a: DONE })));
      const noted = stateOf('compensating', { a: COMPENSATED });
      await saved(checkpointOf(saga, noted, { notes: compensatedAt(7) }));
      const row = await saved(checkpointOf(saga, noted));
      expect(row.state).toEqual(noted);
      expect(row.notes).toBeUndefined();
    });

    test('stay with an operator’s change, but for the steps that it changes', async () => {
      const saga = await held(subject().store);
      const done = { a: DONE, b: DONE };
      await saved(checkpointOf(saga, stateOf('running', done)));
      const note = { at: 7, status: 'compensated', compensationAttempts: 1 } as const;
      const stuck = stateOf('stuck', { a: COMPENSATED, b: COMPENSATED }, { heldPhase: 'compensating' });
      const notes: StepNotes = new Map([
        ['a', note],
        ['b', note],
      ]);
      await saved(checkpointOf(saga, stuck, { notes, release: {} }));
      const skipped = { ...COMPENSATED, round: 2 };
      const state = stateOf('compensating', { a: COMPENSATED, b: skipped });
      await subject().store.edit({ id: saga.id }, () => ({ state, step: 'b', due: true }));
      const read = await loaded(subject().store, saga.id);
      expect(read.state).toEqual(state);
      expect(read.notes).toEqual(new Map([['a', note]]));
    });

    test('of a worker whose lease was lost are not stored', async () => {
      const saga = await held(subject().store);
      await saved(checkpointOf(saga, stateOf('running', { a: DONE })));
      const late = checkpointOf(
        { ...saga, epoch: saga.epoch - 1 },
        stateOf('compensating', { a: COMPENSATED }),
        {
          notes: compensatedAt(7),
        },
      );
      expect(await subject().store.checkpoint([late])).toEqual(['fenced']);
      expect((await loaded(subject().store, saga.id)).state.steps.get('a')).toEqual(DONE);
    });
  });

  describe('the failure of a saga', () => {
    const failed = stepOf({ status: 'failed', failures: 1, errors: [FAILED] });
    const failure: SagaFailure = { kind: 'error', step: 'pay', reason: 'why', error: DOWN };

    test('that is the error of an attempt is read with that', async () => {
      const saga = await held(subject().store);
      const state = stateOf('compensating', { pay: failed }, { failure });
      expect((await saved(checkpointOf(saga, state, { failedAttempt: 1 }))).state).toEqual(state);
      const next = checkpointOf(saga, state, { failedAttempt: 1, changed: [] });
      expect((await saved(next)).state).toEqual(state);
    });

    test('that is an attempt’s stays so with an operator’s change', async () => {
      const saga = await held(subject().store);
      const state = stateOf('stuck', { pay: failed }, { failure, heldPhase: 'compensating' });
      await saved(checkpointOf(saga, state, { failedAttempt: 1, release: {} }));
      const after = stateOf('compensating', { pay: failed }, { failure });
      await subject().store.edit({ id: saga.id }, () => ({ state: after, step: 'pay', due: true }));
      expect((await loaded(subject().store, saga.id)).state).toEqual(after);
    });
  });
}
