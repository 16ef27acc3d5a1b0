import { testOf } from './features.js';
import type { NewSaga, StoredSaga } from '../../libs/saga/src/engine/ports/stored-saga.js';
import { INITIAL } from '../../libs/saga/src/machine/saga-state.js';
import { newId } from '../../libs/saga/src/shared/new-id.js';
import {
  allClaimed,
  AWKWARD_TEXTS,
  checkpointOf,
  claimed,
  claimedIds,
  eventually,
  held,
  LEASE_MS,
  loaded,
  newSaga,
  OTHER_WORKER,
  started,
  stateOf,
  storeNow,
  type StoreSubject,
  TOLERANCE_MS,
  uniqueName,
  WORKER,
} from './store-subject.contract.js';

export function describeStarts(subject: () => StoreSubject): void {
  const start = (sagas: readonly NewSaga[]) => subject().store.start(sagas, WORKER);

  describe('a new saga', () => {
    test('is running, due immediately, and held by no worker', async () => {
      const { store } = subject();
      const saga = newSaga();
      const [result] = await start([saga]);
      const stored = await loaded(store, saga.id);
      expect(result).toEqual({ created: true, leased: false, now: expect.any(Number) });
      expect(stored).toEqual({
        ...{ id: saga.id, name: saga.name, version: 1, priority: 0 },
        state: INITIAL,
        epoch: 0,
        checkpoints: 0,
        takeovers: 0,
        losses: 0,
        dueAt: stored.createdAt,
        createdAt: expect.any(Number),
        updatedAt: stored.createdAt,
        stepTimes: new Map(),
      });
    });

    test('that was stored with its lease is held until the lease ends', async () => {
      const { store, advance } = subject();
      const saga = await held(store);
      expect(saga).toMatchObject({ lockedBy: WORKER.worker, epoch: 1, takeovers: 0 });
      expect(saga.dueAt).toBeCloseTo(saga.createdAt + LEASE_MS, 1);
      expect(await claimedIds(store, saga.name)).toEqual([]);
      await advance(LEASE_MS);
      expect(await claimedIds(store, saga.name)).toEqual([saga.id]);
    });

    test('has its deadline from when it may begin', async () => {
      const { store } = subject();
      const sagas = [
        newSaga({ timeout: 5_000 }),
        newSaga({ timeout: 5_000, leased: true }),
        newSaga({ timeout: 5_000, delay: 60_000 }),
      ];
      await start(sagas);
      for (const [saga, delay] of [
        [sagas[0]!, 0],
        [sagas[1]!, 0],
        [sagas[2]!, 60_000],
      ] as const) {
        const { state, createdAt } = await loaded(store, saga.id);
        expect(state.deadline).toBeCloseTo(createdAt + delay + 5_000, 1);
      }
      expect((await loaded(store, (await held(store)).id)).state.deadline).toBeUndefined();
    });

    test('is stored as it was given', async () => {
      const { store } = subject();
      const given = {
        ...{ name: uniqueName(), version: 7, priority: 42, correlationId: 'order-1' },
        tags: { tenant: 'acme', empty: '' },
        input: '{"quantity":2}',
      };
      expect(await started(store, given)).toMatchObject(given);
    });

    test('takes the lease of its own start even when it is to start later', async () => {
      const saga = await held(subject().store, { delay: 60_000 });
      expect(saga.dueAt).toBeCloseTo(saga.createdAt + LEASE_MS, 1);
    });

    test('that is to start later is not claimed before', async () => {
      const { store, advance } = subject();
      const name = uniqueName();
      const delayed = await started(store, { name, delay: 60_000 });
      const dated = await started(store, { name, startAt: (await storeNow(store)) + 90_000 });
      expect(await claimedIds(store, name)).toEqual([]);
      await advance(60_000);
      expect(await claimedIds(store, name)).toEqual([delayed.id]);
      await advance(30_000);
      expect(await claimedIds(store, name)).toContain(dated.id);
    });

    test('that is to start later has its start time in its state until a worker takes it at that time', async () => {
      const { store, advance } = subject();
      const name = uniqueName();
      const now = await started(store, { name, delay: 0 });
      const saga = await started(store, { name, delay: 60_000 });
      expect(now.state.startsAt).toBeUndefined();
      expect(saga.state.startsAt).toBeCloseTo(saga.createdAt + 60_000, 1);
      await advance(60_000);
      const { sagas } = await claimed(store, name);
      expect(sagas.map(({ state }) => state.startsAt)).toEqual([undefined, undefined]);
      // The clock is set back.
      await advance(-120_000);
      expect((await loaded(store, saga.id)).state.startsAt).toBeUndefined();
    });

    test('that becomes due before its start time, and is claimed and given back, keeps the time', async () => {
      const { store, advance } = subject();
      const name = uniqueName();
      const { id, state } = await started(store, { name, delay: 60_000, step: 'reserve' });
      const dueBefore = (saga: StoredSaga) => ({ state: saga.state, step: saga.name, due: true });
      await store.edit({ id }, dueBefore);
      const [taken] = (await claimed(store, name)).sagas;
      expect(taken!.state.startsAt).toBe(state.startsAt);
      const back = checkpointOf(taken!, taken!.state, { release: { dueAt: state.startsAt }, number: 2 });
      expect(await store.checkpoint([back])).toEqual(['saved']);
      expect((await loaded(store, id)).state.startsAt).toBe(state.startsAt);
      expect(await claimedIds(store, name)).toEqual([]);
      await advance(60_000);
      expect((await claimed(store, name)).sagas).toMatchObject([{ id, state: { status: 'running' } }]);
      expect((await loaded(store, id)).state.startsAt).toBeUndefined();
    });

    test('that was to start in the past starts immediately, but not before those that waited longer', async () => {
      const { store } = subject();
      const name = uniqueName();
      const first = await started(store, { name });
      const second = await started(store, { name, startAt: first.createdAt - 3_600_000 });
      expect(second.dueAt).toBe(second.createdAt);
      expect((await claimedIds(store, name)).toSorted()).toEqual([first.id, second.id].sort());
    });

    testOf('transactions')('started within a transaction is there once that committed', async () => {
      const { store, messages } = subject();
      const outer = await held(store);
      const inner = newSaga();
      const received = messages.length;
      await store.transact(async ({ transaction }) => {
        const result = await store.startWithin(transaction, inner, WORKER);
        expect(result).toEqual({ created: true, leased: false, now: expect.any(Number) });
        const again = await store.startWithin(transaction, inner, WORKER);
        expect(again).toMatchObject({ created: false, existing: { id: inner.id } });
        return checkpointOf(outer, stateOf('running'));
      }, outer);
      expect(await loaded(store, inner.id)).toMatchObject({ name: inner.name, epoch: 0 });
      await eventually(() => expect(messages.slice(received)).toContainEqual({ type: 'due' }));
    });
  });

  describe('what is given as JSON text', () => {
    test.each([
      ['null', 'null'],
      ['keys in their own order', '{"b":1,"a":{"d":[1,2],"c":""}}'],
      ['a key twice over in different case', '{"Key":1,"key":2}'],
      ['unicode and escapes', JSON.stringify({ text: AWKWARD_TEXTS, '"key"': '\\u0041' })],
      ['numbers at the edge', '{"big":1.7976931348623157e+308,"small":5e-324,"precise":0.1}'],
      ['plain text', '"NULL"'],
    ])('is kept to the letter: %s', async (_, input) => {
      expect((await started(subject().store, { input })).input).toBe(input);
    });

    test('null is not the same as nothing', async () => {
      expect((await started(subject().store)).input).toBeUndefined();
    });

    test.each(AWKWARD_TEXTS)('names, correlation ids and tags may hold %j', async (text) => {
      const { store } = subject();
      const name = `${uniqueName()} ${text}`;
      const given = { name, correlationId: text, step: text, tags: { [text]: text } };
      const saga = await started(store, given);
      expect(saga).toMatchObject({ name, correlationId: text, tags: { [text]: text } });
      expect((await store.load({ name, correlationId: text }))?.id).toBe(saga.id);
      expect(await claimedIds(store, name)).toEqual([saga.id]);
    });
  });

  describe('a second saga with the same', () => {
    const existing = ({ id, name, correlationId, input }: NewSaga) => ({
      created: false,
      existing: { id, name, correlationId, input },
    });

    test('id is not stored, and the first is named', async () => {
      const { store } = subject();
      const first = newSaga({ input: '1', correlationId: 'a' });
      await start([first]);
      const second = newSaga({ id: first.id, input: '2', correlationId: 'b' });
      expect(await start([second])).toEqual([existing(first)]);
      expect(await loaded(store, first.id)).toMatchObject({ name: first.name, input: '1' });
      expect(await store.load({ name: second.name, correlationId: 'b' })).toBeUndefined();
    });

    test('name and correlation id is not stored, and the first is named', async () => {
      const { store } = subject();
      const first = newSaga({ input: '1', correlationId: 'order-1' });
      await start([first]);
      const second = newSaga({ name: first.name, input: '2', correlationId: 'order-1', version: 2 });
      expect(await start([second])).toEqual([existing(first)]);
      expect(await store.load({ id: second.id })).toBeUndefined();
    });

    test('correlation id under another name is another saga', async () => {
      const { store } = subject();
      const [a, b] = [newSaga({ correlationId: 'order-1' }), newSaga({ correlationId: 'order-1' })];
      await start([a, b]);
      expect((await store.load({ name: a.name, correlationId: 'order-1' }))?.id).toBe(a.id);
      expect((await store.load({ name: b.name, correlationId: 'order-1' }))?.id).toBe(b.id);
    });

    test.each([
      ['that of the first in order', [newId(), newId()]],
      ['that of the second in order', [newId(), newId()].reverse()],
    ])(
      'correlation id in one batch gets the first of the batch as the existing one (ids: %s)',
      async (_, ids) => {
        const [first, second] = ids.map((id, n) =>
          newSaga({ id, name: `batch-${ids[0]}`, correlationId: 'order-1', input: `${n}` }),
        ) as [NewSaga, NewSaga];
        expect(await start([first, second])).toEqual([
          expect.objectContaining({ created: true }),
          existing(first),
        ]);
        expect(await subject().store.load({ id: second.id })).toBeUndefined();
      },
    );

    test('id in one batch gets the first of the batch as the existing one', async () => {
      const first = newSaga({ correlationId: 'order-1', input: '1' });
      const second = newSaga({ id: first.id, input: '2' });
      expect(await start([first, second])).toEqual([
        expect.objectContaining({ created: true }),
        existing(first),
      ]);
      expect(await loaded(subject().store, first.id)).toMatchObject({ name: first.name, input: '1' });
    });

    test('correlation id, started by ten callers at the same time, is stored once, and all receive the same saga', async () => {
      const { store } = subject();
      const name = uniqueName();
      const sagas = Array.from({ length: 10 }, () => newSaga({ name, correlationId: 'order-1' }));
      const results = (await Promise.all(sagas.map((saga) => start([saga])))).flat();
      const stored = await store.load({ name, correlationId: 'order-1' });
      expect(results.filter((result) => result.created)).toHaveLength(1);
      expect(new Set(results.flatMap((r) => (r.created ? [] : r.existing!.id)))).toEqual(
        new Set([stored?.id]),
      );
      expect(await store.find({ name, limit: 10 })).toHaveLength(1);
    });
  });

  describe('a start that is sent again because its answer was lost', () => {
    test.each([true, false])('returns that it created the saga (leased: %s)', async (leased) => {
      const { store } = subject();
      const saga = newSaga({ fresh: true, leased, correlationId: 'order-1' });
      await start([saga]);
      const before = await loaded(store, saga.id);
      expect(await start([newSaga(), saga])).toMatchObject([{ created: true }, { created: true, leased }]);
      expect(await loaded(store, saga.id)).toEqual(before);
    });

    test('returns no lease if another worker took the saga meanwhile', async () => {
      const { store, advance } = subject();
      const saga = newSaga({ fresh: true, leased: true });
      await start([saga]);
      await advance(LEASE_MS);
      expect((await claimed(store, saga.name, 1, OTHER_WORKER)).sagas).toHaveLength(1);
      expect(await start([saga])).toMatchObject([{ created: true, leased: false }]);
    });

    test('still returns another saga if only the correlation id is the same', async () => {
      const first = newSaga({ fresh: true, correlationId: 'order-1' });
      const second = newSaga({ fresh: true, name: first.name, correlationId: 'order-1' });
      await start([first]);
      expect(await start([second])).toMatchObject([{ created: false, existing: { id: first.id } }]);
    });
  });

  describe('a batch of starts', () => {
    test('answers in the order of its arguments', async () => {
      const known = newSaga({ correlationId: 'known' });
      await start([known]);
      const results = await start([
        newSaga(),
        newSaga({ name: known.name, correlationId: 'known' }),
        newSaga({ leased: true }),
        known,
        newSaga({ correlationId: 'new' }),
      ]);
      expect(results.map((r) => (r.created ? `new ${r.leased}` : r.existing!.id))).toEqual([
        'new false',
        known.id,
        'new true',
        known.id,
        'new false',
      ]);
    });

    test('may hold 500 sagas, and each is stored as it was given', async () => {
      const { store } = subject();
      const name = uniqueName();
      const sagas = Array.from({ length: 500 }, (_, i) =>
        newSaga({ name, correlationId: `order-${i}`, input: `{"n":${i}}`, tags: { n: `${i}` } }),
      );
      const results = await start(sagas);
      expect(results.every((result) => result.created)).toBe(true);
      const stored = await allClaimed(store, name);
      const row = ({ id, input, correlationId, tags }: (typeof stored)[number] | NewSaga) =>
        JSON.stringify([id, input, correlationId, tags]);
      expect(stored.map(row).sort()).toEqual(sagas.map(row).sort());
    });

    test('may be empty', async () => {
      expect(await start([])).toEqual([]);
    });

    test('with one that cannot be stored stores none', async () => {
      const { store } = subject();
      const good = newSaga();
      await expect(start([good, newSaga({ correlationId: 'a\0b' })])).rejects.toThrow();
      expect(await store.load({ id: good.id })).toBeUndefined();
    });
  });

  describe('a saga that is looked up', () => {
    test('by an unknown id or correlation id is not found', async () => {
      const { store } = subject();
      const saga = await started(store, { correlationId: 'order-1' });
      expect(await store.load({ id: newId() })).toBeUndefined();
      expect(await store.load({ name: saga.name, correlationId: 'order-2' })).toBeUndefined();
      expect(await store.load({ name: 'another', correlationId: 'order-1' })).toBeUndefined();
    });

    test('has its id for a correlation id if it was given none', async () => {
      const { store } = subject();
      const plain = await started(store);
      const correlated = await started(store, { name: plain.name, correlationId: 'order-1' });
      expect((await store.load({ name: plain.name, correlationId: plain.id }))?.id).toBe(plain.id);
      expect(await store.load({ name: 'another', correlationId: plain.id })).toBeUndefined();
      expect(await store.load({ name: plain.name, correlationId: correlated.id })).toBeUndefined();
      expect(plain.correlationId).toBeUndefined();
    });

    test('is a copy: changing it, or what was given, changes nothing stored', async () => {
      const { store } = subject();
      const tags = { tenant: 'acme' };
      const saga = await started(store, { tags });
      tags.tenant = 'changed';
      Object.assign(saga, { epoch: 99 });
      Object.assign(saga.tags as object, { tenant: 'changed' });
      (saga.state.steps as Map<string, unknown>).set('reserve', {});
      expect(await loaded(store, saga.id)).toMatchObject({
        epoch: 0,
        tags: { tenant: 'acme' },
        state: { steps: new Map() },
      });
    });

    test('returns times by the same clock as starts and claims', async () => {
      const { store } = subject();
      const saga = await started(store);
      expect(Math.abs((await storeNow(store)) - saga.createdAt)).toBeLessThan(TOLERANCE_MS);
    });
  });
}
