import type { SagaFailure } from '../../libs/saga/src/definition/types/saga-failure.js';
import type { Checkpoint } from '../../libs/saga/src/engine/ports/checkpoint.js';
import type { SagaState } from '../../libs/saga/src/machine/saga-state.js';
import {
  allClaimed,
  AWKWARD_TEXTS,
  checkpointOf,
  claimed,
  claimedIds,
  held,
  lastCheckpointOf,
  LEASE_MS,
  loaded,
  newSaga,
  savedBy,
  stateOf,
  stepOf,
  storeNow,
  type StoreSubject,
  TOLERANCE_MS,
  uniqueName,
  WORKER,
} from './store-subject.contract.js';

export function describeCheckpoints(subject: () => StoreSubject): void {
  const saved = (checkpoint: Checkpoint) => savedBy(subject().store, checkpoint);

  describe('a checkpoint', () => {
    test('stores the state, all but which attempts are being made', async () => {
      const saga = await held(subject().store);
      const charge = stepOf({
        status: 'waiting',
        ...{ attempts: 3, failures: 2, unknown: true, active: true },
        ...{ compensationAttempts: 5, compensationFailures: 4, retryAt: saga.createdAt + 1_234 },
        errors: [
          { name: 'Error', message: 'down', attempt: 2, at: '2026-01-02T03:04:05.678Z', during: 'step' },
        ],
      });
      const { state } = await saved(
        checkpointOf(saga, stateOf('running', { reserve: stepOf({ result: '1' }), charge })),
      );
      expect(state).toEqual(
        stateOf('running', { reserve: stepOf({ result: '1' }), charge: { ...charge, active: false } }),
      );
    });

    test.each([1, 2])(
      'of %d saga(s) that takes a step for new is stored though the step is there',
      async (count) => {
        const sagas = await Promise.all(Array.from({ length: count }, () => held(subject().store)));
        const first = sagas.map((saga) =>
          checkpointOf(saga, stateOf('running', { reserve: stepOf({ status: 'waiting', failures: 1 }) })),
        );
        expect(await subject().store.checkpoint(first)).toEqual(sagas.map(() => 'saved'));
        const state = stateOf('running', { reserve: stepOf({ result: '1', attempts: 2 }) });
        const second = sagas.map((saga) => ({ ...checkpointOf(saga, state), fresh: true }));
        expect(await subject().store.checkpoint(second)).toEqual(sagas.map(() => 'saved'));
        for (const { id } of sagas) expect((await loaded(subject().store, id)).state).toEqual(state);
      },
    );

    test('stores what only sagas with forks, fan-outs and savepoints have', async () => {
      const saga = await held(subject().store);
      const items = ['{"sku":"a"}', '"b"', 'null'];
      const steps = {
        pay: stepOf({ returns: 2 }),
        ship: stepOf({ status: 'running', round: 3, items }),
        'ship[0]': stepOf({ round: 3, result: '1' }),
        race: stepOf({ status: 'pending', wonBy: 'pay', attempts: 0 }),
        slow: stepOf({ status: 'skipped', pruned: true }),
        car: stepOf({ status: 'failed', continued: true }),
      };
      const state = stateOf('compensating', steps, { round: 3, rollbackTo: 'pay' });
      expect((await saved(checkpointOf(saga, state))).state).toEqual(state);
    });

    test('writes the steps that changed, and leaves the others as they are', async () => {
      const saga = await held(subject().store);
      const first = { a: stepOf({ result: '1' }), b: stepOf({ status: 'waiting' }) };
      await saved(checkpointOf(saga, stateOf('running', first)));
      const second = { a: stepOf({ result: '"not to be written"' }), b: stepOf({ result: '2' }) };
      const { state } = await saved(checkpointOf(saga, stateOf('running', second), { changed: ['b'] }));
      expect(state.steps).toEqual(new Map([...Object.entries({ a: first.a, b: second.b })]));
    });

    test('may change no step at all', async () => {
      const saga = await held(subject().store);
      const { state } = await saved(checkpointOf(saga, stateOf('compensating')));
      expect(state).toEqual(stateOf('compensating'));
    });

    test('clears what a step no longer has', async () => {
      const saga = await held(subject().store);
      const retryAt = saga.createdAt;
      await saved(
        checkpointOf(saga, stateOf('running', { a: stepOf({ status: 'waiting', retryAt, unknown: true }) })),
      );
      const { state } = await saved(checkpointOf(saga, stateOf('running', { a: stepOf() })));
      expect(state.steps.get('a')).toEqual(stepOf());
    });

    test.each([
      ['nothing', undefined],
      ['null', 'null'],
      ['keys in their own order', '{"b":1,"a":{"d":[1,2],"c":""}}'],
      ['unicode and escapes', JSON.stringify(AWKWARD_TEXTS)],
      ['plain text', '"NULL"'],
    ])('keeps a result to the letter: %s', async (_, result) => {
      const saga = await held(subject().store);
      const { state } = await saved(checkpointOf(saga, stateOf('running', { a: stepOf({ result }) })));
      expect(state.steps.get('a')?.result).toBe(result);
    });

    test.each(AWKWARD_TEXTS)('keeps step names and errors that hold %j', async (text) => {
      const saga = await held(subject().store);
      const error = { name: 'Error', message: text, code: text, stack: text };
      const errors = [{ ...error, cause: error, attempt: 1, at: text, during: 'compensation' as const }];
      const state = stateOf('running', { [text]: stepOf({ errors }) });
      expect((await saved(checkpointOf(saga, state, { step: text }))).state).toEqual(state);
    });

    test('keeps why a saga rolled back or stopped, and forgets it with the state', async () => {
      const saga = await held(subject().store);
      const failure: SagaFailure = {
        kind: 'rejected',
        step: 'charge',
        reason: 'no money',
        error: { name: 'Declined', message: 'declined', cause: { name: 'Error', message: 'no money' } },
      };
      const stuck = stateOf('stuck', {}, { heldPhase: 'compensating', failure });
      expect((await saved(checkpointOf(saga, stuck))).state).toEqual(stuck);
      const running = await saved(checkpointOf(saga, stateOf('running')));
      expect(running.state).toEqual(stateOf('running'));
    });

    test('records when a step started and when it last changed', async () => {
      const { store, advance } = subject();
      const saga = await held(store);
      await advance(10_000);
      const state = stateOf('running', { a: stepOf(), b: stepOf() });
      const { stepTimes } = await saved(checkpointOf(saga, state, { elapsed: new Map([['a', 2_000.5]]) }));
      const [a, b] = [stepTimes.get('a'), stepTimes.get('b')];
      expect(Math.abs((a?.updatedAt ?? 0) - (a?.startedAt ?? 0) - 2_000.5)).toBeLessThan(2);
      expect(b?.startedAt).toBe(b?.updatedAt);
      expect(Math.abs((await storeNow(store)) - (b?.updatedAt ?? 0))).toBeLessThan(TOLERANCE_MS);
    });

    test('that is written again, because the answer to the first was lost, changes nothing', async () => {
      const saga = await held(subject().store);
      const step = stepOf({ result: '1' });
      const checkpoint = checkpointOf(saga, stateOf('running', { a: step }), {
        release: { dueAt: saga.createdAt + 60_000 },
      });
      const first = await saved(checkpoint);
      expect(await saved(checkpoint)).toEqual(first);
    });

    test('that arrives after a later one, on an abandoned connection, changes nothing', async () => {
      const saga = await held(subject().store);
      const late = checkpointOf(saga, stateOf('running', { a: stepOf({ status: 'waiting' }) }));
      const last = await saved(
        checkpointOf(saga, stateOf('running', { a: stepOf({ result: '1' }), b: stepOf({ result: '2' }) })),
      );
      expect(await saved(late)).toEqual(last);
      // By itself, and in a batch.
      const other = await held(subject().store);
      expect(await subject().store.checkpoint([late, checkpointOf(other, stateOf('running'))])).toEqual([
        'saved',
        'saved',
      ]);
      expect(await subject().store.load({ id: saga.id })).toEqual(last);
    });

    test('that arrives after a later one gave the lease back does not give it back again', async () => {
      const { store } = subject();
      const saga = await held(store);
      const late = checkpointOf(saga, stateOf('running'), { release: { dueAt: saga.createdAt } });
      const last = await saved(checkpointOf(saga, stateOf('running'), { release: { dueAt: 4e12 } }));
      expect(await saved(late)).toEqual(last);
    });

    test('that ends the saga may be written again', async () => {
      const { store, advance } = subject();
      const checkpoint = lastCheckpointOf(await held(store));
      const first = await saved(checkpoint);
      await advance(60_000);
      const second = await saved(checkpoint);
      expect(second.state).toEqual(first.state);
      expect((await storeNow(store)) - (second.finishedAt ?? 0)).toBeGreaterThanOrEqual(60_000);
    });

    test('is a copy: changing what was given, or what was read, changes nothing stored', async () => {
      const saga = await held(subject().store);
      const step = stepOf({
        errors: [{ name: 'Error', message: 'down', attempt: 1, at: '', during: 'step' }],
      });
      const failure: SagaFailure = { kind: 'error', error: { name: 'Error', message: 'down' } };
      const state = stateOf('compensating', { a: step }, { failure });
      const expected = stateOf(
        'compensating',
        { a: { ...step, errors: step.errors.map((error) => ({ ...error })) } },
        { failure: { kind: 'error', error: { name: 'Error', message: 'down' } } },
      );
      const change = (given: SagaState) => {
        Object.assign(given.failure?.error as object, { message: 'changed' });
        Object.assign(given.steps.get('a')?.errors[0] as object, { message: 'changed' });
        (given.steps as Map<string, unknown>).delete('a');
      };
      const read = (await saved(checkpointOf(saga, state))).state;
      expect(read).toEqual(expected);
      change(state);
      change(read);
      expect((await loaded(subject().store, saga.id)).state).toEqual(expected);
    });
  });

  describe('the lease', () => {
    test('is kept by a checkpoint that does not give it back', async () => {
      const { store } = subject();
      const saga = await held(store);
      const { lockedBy, epoch, dueAt } = await saved(checkpointOf(saga, stateOf('running')));
      expect({ lockedBy, epoch, dueAt }).toEqual({ lockedBy: WORKER.worker, epoch: 1, dueAt: saga.dueAt });
      expect(await claimedIds(store, saga.name)).toEqual([]);
    });

    test('is released with the time of the next claim', async () => {
      const { store, advance } = subject();
      const saga = await held(store);
      // A worker's clock has fractions of milliseconds.
      const dueAt = saga.createdAt + 120_000.25;
      const released = await saved(checkpointOf(saga, stateOf('running'), { release: { dueAt } }));
      expect(released.lockedBy).toBeUndefined();
      expect(Math.abs((released.dueAt ?? 0) - dueAt)).toBeLessThanOrEqual(1);
      await advance(LEASE_MS);
      expect(await claimedIds(store, saga.name)).toEqual([]);
      await advance(120_000 - LEASE_MS + 1);
      expect(await claimed(store, saga.name)).toMatchObject({ sagas: [{ id: saga.id, takeovers: 0 }] });
    });

    test('is released permanently when there is no time of a next claim', async () => {
      const { store, advance } = subject();
      const saga = await held(store);
      const released = await saved(checkpointOf(saga, stateOf('paused'), { release: {} }));
      expect([released.lockedBy, released.dueAt, released.finishedAt]).toEqual([
        undefined,
        undefined,
        undefined,
      ]);
      await advance(LEASE_MS * 100);
      expect(await claimedIds(store, saga.name)).toEqual([]);
    });

    test('retry times with fractions of milliseconds are kept to the millisecond', async () => {
      const saga = await held(subject().store);
      const retryAt = saga.createdAt + 999.5;
      const { state } = await saved(checkpointOf(saga, stateOf('running', { a: stepOf({ retryAt }) })));
      expect(Math.abs((state.steps.get('a')?.retryAt ?? 0) - retryAt)).toBeLessThanOrEqual(1);
    });
  });

  describe('a saga that ends or becomes idle', () => {
    test.each(['completed', 'compensated', 'aborted'] as const)(
      'as %s is finished at that time, held by no worker, and never due again',
      async (status) => {
        const { store, advance } = subject();
        const saga = await held(store);
        await advance(20_000);
        const checkpoint = checkpointOf(saga, stateOf(status), { release: { dueAt: saga.createdAt } });
        const finished = await saved(checkpoint);
        expect([finished.state.status, finished.lockedBy, finished.dueAt]).toEqual([
          status,
          undefined,
          undefined,
        ]);
        expect((await storeNow(store)) - (finished.finishedAt ?? 0)).toBeLessThan(TOLERANCE_MS);
        expect(await claimedIds(store, saga.name)).toEqual([]);
      },
    );

    test.each(['stuck', 'suspended', 'paused'] as const)(
      'as %s waits for an operator: not finished, but not due either',
      async (status) => {
        const { store, advance } = subject();
        const saga = await held(store);
        const checkpoint = checkpointOf(saga, stateOf(status), { release: { dueAt: saga.createdAt } });
        const { dueAt, finishedAt } = await saved(checkpoint);
        expect([dueAt, finishedAt]).toEqual([undefined, undefined]);
        await advance(LEASE_MS * 2);
        expect(await claimedIds(store, saga.name)).toEqual([]);
      },
    );

    test('without giving its lease back is never due again all the same', async () => {
      const { store, advance } = subject();
      const saga = await held(store);
      expect((await saved(checkpointOf(saga, stateOf('completed')))).dueAt).toBeUndefined();
      await advance(LEASE_MS * 2);
      expect(await claimedIds(store, saga.name)).toEqual([]);
    });
  });

  describe('a batch of checkpoints', () => {
    test('may hold 500, each for its own saga', async () => {
      const { store } = subject();
      const name = uniqueName();
      const sagas = Array.from({ length: 500 }, () => newSaga({ name, leased: true }));
      await store.start(sagas, WORKER);
      const results = await store.checkpoint(
        sagas.map(({ id }, n) =>
          checkpointOf({ id, epoch: 1 }, stateOf('running', { a: stepOf({ result: `${n}` }), b: stepOf() }), {
            release: { dueAt: n },
          }),
        ),
      );
      expect(new Set(results)).toEqual(new Set(['saved']));
      const stored = new Map((await allClaimed(store, name)).map((saga) => [saga.id, saga.state]));
      expect(sagas.map(({ id }) => stored.get(id)?.steps.get('a')?.result)).toEqual(
        sagas.map((_, n) => `${n}`),
      );
    });

    test('may be empty', async () => {
      expect(await subject().store.checkpoint([])).toEqual([]);
    });

    test('with one that cannot be stored stores none', async () => {
      const { store } = subject();
      const [good, bad] = [await held(store), await held(store)];
      const refused = store.checkpoint([
        lastCheckpointOf(good),
        checkpointOf(bad, stateOf('running', { a: stepOf({ result: '"\0"' }) })),
      ]);
      await expect(refused).rejects.toThrow();
      expect(await loaded(store, good.id)).toEqual(good);
    });
  });

  test('an error of the program is not transient', () => {
    expect(subject().store.isTransient(new TypeError('x is not a function'))).toBe(false);
    expect(subject().store.isTransient(undefined)).toBe(false);
  });
}
