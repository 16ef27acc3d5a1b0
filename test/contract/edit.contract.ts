import { newId } from '../../libs/saga/src/shared/new-id.js';
import {
  checkpointOf,
  claimed,
  claimedIds,
  eventually,
  held,
  lastCheckpointOf,
  LEASE_MS,
  loaded,
  newSaga,
  started,
  stateOf,
  stepOf,
  storeNow,
  type StoreSubject,
  TOLERANCE_MS,
  WORKER,
} from './store-subject.contract.js';

export function describeEdits(subject: () => StoreSubject): void {
  describe('an operator’s change', () => {
    test('is made to the saga as it is stored, and gives it back as it is then', async () => {
      const { store } = subject();
      const saga = await started(store, { correlationId: 'order-1', input: '1' });
      const state = stateOf('stuck', { a: stepOf() }, { heldPhase: 'running' });
      const edited = await store.edit({ id: saga.id }, (given, now) => {
        expect(given).toEqual(saga);
        expect(Math.abs(now - saga.createdAt)).toBeLessThan(TOLERANCE_MS);
        return { state, due: false, step: 'a' };
      });
      expect(edited).toEqual(await loaded(store, saga.id));
      expect(edited).toMatchObject({ state, epoch: 1, input: '1' });
      expect(edited?.dueAt).toBeUndefined();
    });

    test('finds its saga by name and correlation id', async () => {
      const { store } = subject();
      const { id, name } = await started(store, { correlationId: 'order-1' });
      const plain = await started(store, { name });
      const pause = (correlationId: string) =>
        store.edit({ name, correlationId }, ({ state }) => ({
          state: { ...state, status: 'paused' },
          ...{ due: false, step: '' },
        }));
      expect(await pause('order-1')).toMatchObject({ id, state: { status: 'paused' } });
      expect(await pause(plain.id)).toMatchObject({ id: plain.id, state: { status: 'paused' } });
    });

    test('of a saga that is not there is none', async () => {
      const asked: unknown[] = [];
      const edited = await subject().store.edit({ id: newId() }, (saga) => {
        asked.push(saga);
        return undefined;
      });
      expect({ edited, asked }).toEqual({ edited: undefined, asked: [] });
    });

    test('that is refused after a look changes nothing', async () => {
      const { store } = subject();
      const saga = await held(store);
      expect(await store.edit({ id: saga.id }, () => undefined)).toEqual(saga);
      const error = new Error('A completed saga cannot be cancelled');
      const refused = store.edit({ id: saga.id }, () => {
        throw error;
      });
      await expect(refused).rejects.toBe(error);
      expect(await loaded(store, saga.id)).toEqual(saga);
    });

    test('stores every step of the new state, and a new input', async () => {
      const { store } = subject();
      const saga = await held(store, { input: '{"sku":"a"}' });
      const before = { a: stepOf({ result: '1' }), b: stepOf({ status: 'failed', failures: 3 }) };
      await store.checkpoint([checkpointOf(saga, stateOf('stuck', before), { release: {} })]);
      const after = {
        a: stepOf({ result: 'null' }),
        b: stepOf({ status: 'pending' }),
        c: stepOf({ active: true }),
      };
      const input = '{"sku":"b","a":1}';
      const edited = await store.edit({ id: saga.id }, () => ({
        state: stateOf('running', after),
        ...{ input, due: true, step: 'b' },
      }));
      expect(edited).toMatchObject({ input });
      expect(edited?.state).toEqual(stateOf('running', { ...after, c: stepOf() }));
    });

    test('records a change of only the steps that it changed', async () => {
      const { store, advance } = subject();
      const saga = await held(store);
      const error = { name: 'Error', message: 'declined', attempt: 1, during: 'step', at: '' } as const;
      const before = {
        untouched: stepOf({ result: '{"a":1}', errors: [error] }),
        copied: stepOf({
          items: ['1', '2'],
          wait: { signal: 'paid', takenSignal: 1, payload: '{}' },
          errors: [error],
        }),
        retried: stepOf({ status: 'failed', failures: 3, errors: [error] }),
      };
      await store.checkpoint([checkpointOf(saga, stateOf('stuck', before), { release: {} })]);
      await advance(LEASE_MS);
      const then = await loaded(store, saga.id);
      const edited = await store.edit({ id: saga.id }, ({ state }) => {
        const steps = new Map(state.steps);
        steps.set('copied', structuredClone(steps.get('copied')!));
        steps.set('retried', { ...steps.get('retried')!, status: 'pending', failures: 0 });
        return { state: { ...state, status: 'running', steps }, due: true, step: 'retried' };
      });
      for (const kept of ['untouched', 'copied'])
        expect(edited?.stepTimes.get(kept)).toEqual(then.stepTimes.get(kept));
      expect(edited!.stepTimes.get('retried')!.updatedAt).toBeGreaterThan(
        then.stepTimes.get('retried')!.updatedAt,
      );
      expect(edited?.state).toEqual(
        stateOf('running', { ...before, retried: { ...before.retried, status: 'pending', failures: 0 } }),
      );
    });

    test('keeps the input, unless it gives another', async () => {
      const { store } = subject();
      const { id } = await started(store, { input: '1' });
      const change = { due: false, step: '' };
      const kept = await store.edit({ id }, ({ state }) => ({ state, ...change }));
      const replaced = await store.edit({ id }, ({ state }) => ({ state, ...change, input: '2' }));
      expect([kept?.input, replaced?.input]).toEqual(['1', '2']);
    });

    test.each([['an input'], [undefined]])(
      'keeps the input that the saga was started with (%s) beside others, also for repeated starts',
      async (given) => {
        const { store } = subject();
        const input = given && JSON.stringify(given);
        const saga = await started(store, { input, correlationId: 'order-1' });
        const change = { due: false, step: '' };
        expect(saga.startedWith).toBeUndefined();
        await store.edit({ id: saga.id }, ({ state }) => ({ state, ...change }));
        expect((await loaded(store, saga.id)).startedWith).toBeUndefined();
        for (const other of ['1', 'null', '2']) {
          const edited = await store.edit({ id: saga.id }, ({ state }) => ({
            ...{ state, ...change, input: other },
          }));
          expect([edited?.input, edited?.startedWith]).toEqual([other, { input }]);
        }
        const last = await loaded(store, saga.id);
        expect([last.input, last.startedWith]).toEqual(['2', { input }]);
        const again = newSaga({ name: saga.name, correlationId: 'order-1', input });
        const [byCorrelation, byId] = await store.start(
          [again, newSaga({ id: saga.id, name: saga.name, input })],
          WORKER,
        );
        for (const result of [byCorrelation!, byId!]) {
          const existing = result.created ? undefined : result.existing;
          expect([existing?.id, existing?.input]).toEqual([saga.id, input]);
        }
        expect((await claimed(store, saga.name)).sagas).toEqual([]);
      },
    );

    test('takes the lease away, clears a cancellation, and forgets how often workers were lost', async () => {
      const { store, advance } = subject();
      const { id, name } = await held(store);
      await advance(LEASE_MS);
      await claimed(store, name);
      await store.edit({ id }, () => ({ requestCancel: { reason: 'changed my mind' } }));
      expect(await loaded(store, id)).toMatchObject({ takeovers: 1, epoch: 2, cancelRequested: {} });
      const edited = await store.edit({ id }, ({ state }) => ({ state, due: true, step: '' }));
      expect(edited).toMatchObject({ takeovers: 0, epoch: 3 });
      expect(edited?.lockedBy).toBeUndefined();
      expect(edited?.cancelRequested).toBeUndefined();
      expect((await claimed(store, name)).sagas).toMatchObject([{ id, takeovers: 0, epoch: 4 }]);
    });

    test('makes the saga due immediately, or leaves it idle', async () => {
      const { store, advance } = subject();
      const saga = await started(store, { delay: 60_000 });
      await store.edit({ id: saga.id }, ({ state }) => ({ state, due: false, step: '' }));
      await advance(60_000);
      expect(await claimedIds(store, saga.name)).toEqual([]);
      await store.edit({ id: saga.id }, ({ state }) => ({ state, due: true, step: '' }));
      expect(await claimedIds(store, saga.name)).toEqual([saga.id]);
    });

    test('that ends the saga finishes it', async () => {
      const { store, advance } = subject();
      const saga = await held(store);
      await advance(20_000);
      const edited = await store.edit({ id: saga.id }, () => ({
        state: stateOf('aborted', {}, { failure: { kind: 'cancelled', reason: 'manual' } }),
        ...{ due: true, step: '' },
      }));
      expect([edited?.state.status, edited?.dueAt, edited?.lockedBy]).toEqual([
        'aborted',
        undefined,
        undefined,
      ]);
      expect((await storeNow(store)) - (edited?.finishedAt ?? 0)).toBeLessThan(TOLERANCE_MS);
    });

    test('that takes a finished saga up again makes it unfinished', async () => {
      const { store } = subject();
      const saga = await held(store);
      await store.checkpoint([lastCheckpointOf(saga)]);
      const edited = await store.edit({ id: saga.id }, ({ state }) => ({
        state: { ...state, status: 'compensating', failure: { kind: 'undone' } },
        ...{ due: true, step: '' },
      }));
      expect(edited?.finishedAt).toBeUndefined();
      expect(await claimedIds(store, saga.name)).toEqual([saga.id]);
    });

    test('by many at once is made one after the other', async () => {
      const { store } = subject();
      const saga = await started(store);
      const attempt = () =>
        store.edit({ id: saga.id }, ({ state }) => {
          const { attempts } = state.steps.get('a') ?? stepOf({ attempts: 0 });
          const steps = { a: stepOf({ attempts: attempts + 1 }) };
          return { state: stateOf('running', steps), due: true, step: 'a' };
        });
      await Promise.all(Array.from({ length: 10 }, attempt));
      const stored = await loaded(store, saga.id);
      expect(stored.epoch).toBe(10);
      expect(stored.state.steps.get('a')?.attempts).toBe(10);
    });

    test('gets a copy: what it does to it changes nothing stored', async () => {
      const { store } = subject();
      const saga = await started(store, { tags: { tenant: 'acme' } });
      await store.edit({ id: saga.id }, (given) => {
        Object.assign(given, { epoch: 99 });
        Object.assign(given.tags as object, { tenant: 'changed' });
        return undefined;
      });
      expect(await loaded(store, saga.id)).toEqual(saga);
    });
  });

  describe('a request to cancel', () => {
    const request = (id: string, reason?: string) =>
      subject().store.edit({ id }, () => ({ requestCancel: { reason } }));

    test('leaves the lease and the state to the holder', async () => {
      const { store } = subject();
      const saga = await held(store);
      const asked = await request(saga.id, 'changed my mind');
      expect(asked).toEqual({
        ...saga,
        cancelRequested: { reason: 'changed my mind' },
        updatedAt: asked?.updatedAt,
      });
      expect(await loaded(store, saga.id)).toEqual(asked);
    });

    test('may be made again; the first reason is the one that counts', async () => {
      const { store } = subject();
      const [a, b] = [await held(store), await held(store)];
      await request(a.id, 'first');
      expect((await request(a.id, 'second'))?.cancelRequested).toEqual({ reason: 'first' });
      await request(b.id);
      const again = await request(b.id, 'second');
      expect(again?.cancelRequested).toBeDefined();
      expect(again?.cancelRequested?.reason).toBeUndefined();
    });
  });

  describe('a listening worker', () => {
    test('receives that a changed saga is due', async () => {
      const { store, messages } = subject();
      const saga = await started(store);
      const received = messages.length;
      await store.edit({ id: saga.id }, ({ state }) => ({ state, due: true, step: '' }));
      await eventually(() => expect(messages.slice(received)).toContainEqual({ type: 'due' }));
    });

    test('receives a request for a saga that it holds', async () => {
      const { store, messages } = subject();
      const saga = await held(store);
      await store.edit({ id: saga.id }, () => ({ requestCancel: {} }));
      await eventually(() => expect(messages).toContainEqual({ type: 'look', id: saga.id }));
    });

    test('receives that a saga was taken from it', async () => {
      const { store, messages } = subject();
      const saga = await held(store);
      await store.edit({ id: saga.id }, ({ state }) => ({ state, due: false, step: '' }));
      await eventually(() => expect(messages).toContainEqual({ type: 'look', id: saga.id }));
    });
  });
}
