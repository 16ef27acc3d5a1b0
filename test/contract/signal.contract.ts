import { describeOf, testOf } from './features.js';
import { randomUUID } from 'node:crypto';
import type { StoredMessage } from '../../libs/saga/src/engine/ports/checkpoint.js';
import type { SagaStore } from '../../libs/saga/src/engine/ports/saga-store.js';
import type { SentSignal, StoredSaga } from '../../libs/saga/src/engine/ports/stored-saga.js';
import type { SagaState } from '../../libs/saga/src/machine/saga-state.js';
import {
  AWKWARD_TEXTS,
  checkpointOf,
  claimed,
  claimedIds,
  eventually,
  held,
  lastCheckpointOf,
  LEASE_MS,
  loaded,
  newSaga,
  OTHER_WORKER,
  started,
  stateOf,
  stepOf,
  type StoreSubject,
  uniqueName,
} from './store-subject.contract.js';

const HOUR = 3_600_000;

export function describeSignals(subject: () => StoreSubject): void {
  const sent = (name: string, payload?: string): SentSignal => ({ name, messageId: randomUUID(), payload });
  const kept = (signal: SentSignal, number: number) => ({ ...signal, number, at: expect.any(Number) });
  const send = async (store: SagaStore, saga: { readonly id: string }, signal: SentSignal) =>
    (await store.signal([{ ...signal, target: { id: saga.id } }]))[0]!;
  const waitingFor = (signal: string, given: Partial<SagaState> = {}) =>
    stateOf('running', { reply: stepOf({ status: 'waiting', wait: { signal } }) }, given);
  /** A saga that no worker holds and that waits for this signal. */
  const waiting = async (store: SagaStore, signal: string): Promise<StoredSaga> => {
    const saga = await held(store);
    await store.checkpoint([checkpointOf(saga, waitingFor(signal), { release: {} })]);
    return loaded(store, saga.id);
  };

  describe('what a saga waits for', () => {
    test('is stored with it, and it is due at no time', async () => {
      const { store } = subject();
      const { state, dueAt } = await waiting(store, 'reply');
      expect({ wait: state.steps.get('reply')?.wait, dueAt }).toEqual({
        wait: { signal: 'reply' },
        dueAt: undefined,
      });
    });

    testOf('transactions')(
      'makes it due when it is sent inside the transaction of a step, which is announced',
      async () => {
        const { store, messages } = subject();
        const outer = await held(store);
        const saga = await waiting(store, 'reply');
        const before = messages.length;
        const signal = sent('reply', '{"n":1}');
        await store.transact(async ({ transaction }) => {
          const target = { id: saga.id };
          expect(await store.signalWithin(transaction, { ...signal, target })).toMatchObject({
            outcome: 'kept',
          });
          expect(await store.signalWithin(transaction, { ...signal, target })).toMatchObject({
            outcome: 'known',
          });
          const awaited = { [`${saga.name}@1`]: ['reply'] };
          const other = { ...sent('other'), target };
          expect(await store.signalWithin(transaction, other, awaited)).toMatchObject({ outcome: 'refused' });
          return checkpointOf(outer, stateOf('running'));
        }, outer);
        await eventually(() =>
          expect(messages.slice(before)).toContainEqual(expect.objectContaining({ type: 'due' })),
        );
        expect((await claimed(store, saga.name)).sagas[0]?.signals).toEqual([kept(signal, 1)]);
      },
    );

    test('makes it due when it comes, which is announced; the claim has it', async () => {
      const { store, messages } = subject();
      const saga = await waiting(store, 'reply');
      const before = messages.length;
      const signal = sent('reply', '{"n":1}');
      expect(await send(store, saga, signal)).toEqual({
        outcome: 'kept',
        saga: { id: saga.id, name: saga.name, version: 1, status: 'running' },
      });
      await eventually(() =>
        expect(messages.slice(before)).toContainEqual(expect.objectContaining({ type: 'due' })),
      );
      const { sagas } = await claimed(store, saga.name);
      expect(sagas[0]?.signals).toEqual([kept(signal, 1)]);
    });

    test('comes with the time at which it was sent', async () => {
      const { store, advance } = subject();
      const saga = await waiting(store, 'reply');
      await advance(HOUR);
      await send(store, saga, sent('reply'));
      await advance(HOUR);
      const { signals, createdAt } = await loaded(store, saga.id);
      expect(await store.pendingSignals(saga.id)).toEqual(signals);
      const sentAfter = signals![0]!.at - createdAt;
      expect(sentAfter).toBeGreaterThanOrEqual(HOUR);
      expect(sentAfter).toBeLessThan(2 * HOUR);
    });

    test('may come with a text of any kind, or with nothing', async () => {
      const { store } = subject();
      const saga = await started(store);
      const payloads = [undefined, 'null', ...AWKWARD_TEXTS.map((text) => JSON.stringify(text))];
      for (const payload of payloads) await send(store, saga, sent('reply', payload));
      expect((await store.pendingSignals(saga.id)).map(({ payload }) => payload)).toEqual(payloads);
    });

    test('has any name', async () => {
      const { store } = subject();
      for (const name of AWKWARD_TEXTS) {
        const saga = await waiting(store, name);
        await send(store, saga, sent(name));
        expect(await claimedIds(store, saga.name)).toEqual([saga.id]);
      }
    });

    test('is not what has another name', async () => {
      const { store } = subject();
      const saga = await waiting(store, 'reply');
      await send(store, saga, sent('repl'));
      expect(await claimedIds(store, saga.name)).toEqual([]);
    });

    test('is looked for until its time is over', async () => {
      const { store, advance } = subject();
      const saga = await held(store);
      const now = saga.createdAt;
      const state = stateOf('running', {
        reply: stepOf({ status: 'waiting', wait: { signal: 'reply', until: now + HOUR } }),
      });
      await store.checkpoint([checkpointOf(saga, state, { release: { dueAt: now + HOUR } })]);
      expect(await claimedIds(store, saga.name)).toEqual([]);
      await advance(2 * HOUR);
      expect(await claimedIds(store, saga.name)).toEqual([saga.id]);
    });
  });

  describe('a signal to a saga', () => {
    test('is numbered in the order in which it came, and stays until it is taken', async () => {
      const { store } = subject();
      const saga = await started(store);
      for (const name of ['a', 'b', 'a']) await send(store, saga, sent(name));
      const all = await store.pendingSignals(saga.id);
      expect(all.map(({ name, number }) => `${name}${number}`)).toEqual(['a1', 'b2', 'a3']);
      expect((await loaded(store, saga.id)).signals).toEqual(all);
    });

    test('is taken by the checkpoint that says so: all of that name up to its number', async () => {
      const { store } = subject();
      const saga = await held(store);
      for (const name of ['a', 'b', 'a', 'a']) await send(store, saga, sent(name));
      await store.checkpoint([checkpointOf(saga, stateOf('running', {}, { lastTakenSignals: { a: 3 } }))]);
      const left = await store.pendingSignals(saga.id);
      expect(left.map(({ name, number }) => `${name}${number}`)).toEqual(['b2', 'a4']);
      expect((await loaded(store, saga.id)).state.lastTakenSignals).toEqual({ a: 3 });
    });

    test('reaches the holder of the saga. If the holder missed it, the released saga is due immediately', async () => {
      const { store, messages } = subject();
      const saga = await held(store);
      const before = messages.length;
      await send(store, saga, sent('reply'));
      await eventually(() => expect(messages.slice(before)).toContainEqual({ type: 'look', id: saga.id }));
      await store.checkpoint([checkpointOf(saga, waitingFor('reply'), { release: {} })]);
      expect(await claimedIds(store, saga.name)).toEqual([saga.id]);
    });

    test('does not start a delayed saga early', async () => {
      const { store } = subject();
      const saga = await started(store, { delay: HOUR });
      await send(store, saga, sent('reply'));
      expect(await claimedIds(store, saga.name)).toEqual([]);
    });

    test('does not wake a saga that needs an operator', async () => {
      const { store } = subject();
      const saga = await held(store);
      const stuck = { ...waitingFor('reply'), status: 'stuck', heldPhase: 'running' } as const;
      await store.checkpoint([checkpointOf(saga, stuck, { release: {} })]);
      expect((await send(store, saga, sent('reply'))).outcome).toBe('kept');
      expect(await claimedIds(store, saga.name)).toEqual([]);
      expect((await loaded(store, saga.id)).signals).toHaveLength(1);
    });

    test('twice with one message id is known the second time, and dropped', async () => {
      const { store } = subject();
      const saga = await started(store);
      const signal = sent('reply', '1');
      expect((await send(store, saga, signal)).outcome).toBe('kept');
      expect((await send(store, saga, { ...signal, name: 'other', payload: '2' })).outcome).toBe('known');
      expect(await store.pendingSignals(saga.id)).toEqual([kept(signal, 1)]);
    });

    test('is refused when no step of the saga waits for it; only of sagas that are known', async () => {
      const { store } = subject();
      const [saga, other] = [await held(store), await started(store, { version: 2 })];
      const awaited = { [`${saga.name}@1`]: ['reply', 'other'], [`${other.name}@1`]: [] };
      const resultOf = async (to: StoredSaga, signal: SentSignal) =>
        (await store.signal([{ ...signal, target: { id: to.id } }], awaited))[0]!.outcome;
      const kept = sent('reply');
      expect(await resultOf(saga, sent('repl'))).toBe('refused');
      expect(await resultOf(saga, kept)).toBe('kept');
      expect(await resultOf(saga, { ...kept, name: 'repl' })).toBe('known');
      expect(await resultOf(other, sent('repl'))).toBe('kept');
      expect(await store.pendingSignals(saga.id)).toHaveLength(1);
      await store.checkpoint([lastCheckpointOf(saga)]);
      expect(await resultOf(saga, sent('repl'))).toBe('refused');
      expect(await resultOf(saga, sent('reply'))).toBe('ended');
    });

    test('by a message id that another saga knows is its own', async () => {
      const { store } = subject();
      const signal = sent('reply');
      for (const saga of [await started(store), await started(store)])
        expect((await send(store, saga, signal)).outcome).toBe('kept');
    });

    test('after its end is not kept, but what it knows is known', async () => {
      const { store } = subject();
      const saga = await held(store);
      const signal = sent('reply');
      await send(store, saga, signal);
      await store.checkpoint([lastCheckpointOf(saga)]);
      expect(await send(store, saga, signal)).toMatchObject({ outcome: 'known' });
      expect(await send(store, saga, sent('reply'))).toMatchObject({
        outcome: 'ended',
        saga: { id: saga.id, status: 'completed' },
      });
      expect(await store.pendingSignals(saga.id)).toHaveLength(1);
    });
  });

  test('a signal that comes while its saga is being claimed is in the claim, or announced to the one that claimed', async () => {
    const { store } = subject();
    for (let round = 0; round < 40; round += 1) {
      const name = uniqueName();
      const sagas = Array.from({ length: 20 }, () => newSaga({ name }));
      await store.start(sagas, { worker: 'w', duration: HOUR });
      const [claim] = await Promise.all([
        claimed(store, name),
        ...sagas.map((saga) => send(store, saga, sent('reply'))),
      ]);
      for (const { id, signals } of claim.sagas) {
        const given = await store.checkpoint([
          checkpointOf(
            { id, epoch: 1 },
            waitingFor('reply', { lastTakenSignals: { reply: signals?.length ?? 0 } }),
            {
              release: {},
            },
          ),
        ]);
        expect(given).toEqual(['saved']);
      }
      const missed = claim.sagas.filter(({ signals }) => !signals?.length).map(({ id }) => id);
      const due = await claimedIds(store, name);
      expect(missed.filter((id) => !due.includes(id))).toEqual([]);
    }
  });

  describe('a batch of signals', () => {
    test('is answered in its order, whichever sagas they are for', async () => {
      const { store } = subject();
      const [a, b] = [await started(store), await started(store)];
      const done = await held(store);
      await store.checkpoint([lastCheckpointOf(done)]);
      const to = (id: string, name = 'reply') => ({ ...sent(name), target: { id } });
      const results = await store.signal([
        to(b.id, '1'),
        to(randomUUID()),
        to(a.id),
        to(done.id),
        to(b.id, '2'),
      ]);
      expect(results.map((result) => ('saga' in result ? result.saga.id : result.outcome))).toEqual([
        b.id,
        'unknown',
        a.id,
        done.id,
        b.id,
      ]);
      expect((await store.pendingSignals(b.id)).map(({ name }) => name)).toEqual(['1', '2']);
    });

    test('finds sagas by name and correlation id, or by the id instead', async () => {
      const { store } = subject();
      const name = uniqueName();
      const named = await started(store, { name, correlationId: 'order-1' });
      const plain = await started(store, { name });
      const to = (correlationId: string, saga = name) => ({
        ...sent('reply'),
        target: { name: saga, correlationId },
      });
      const targets = [to('order-1'), to(plain.id), to(named.id), to('order-2'), to('order-1', uniqueName())];
      expect((await store.signal(targets)).map((result) => ('saga' in result ? result.saga.id : ''))).toEqual(
        [named.id, plain.id, '', '', ''],
      );
    });

    test('may be none', async () => {
      expect(await subject().store.signal([])).toEqual([]);
    });
  });

  describe('an edit that sends a signal', () => {
    test('takes no lease away, and wakes the saga as any other does', async () => {
      const { store } = subject();
      const saga = await waiting(store, 'approval:pay');
      const signal = sent('approval:pay', '{}');
      const edited = await store.edit({ id: saga.id }, () => ({ signal }));
      expect(edited).toMatchObject({ epoch: saga.epoch, signals: [kept(signal, 1)] });
      expect(await claimedIds(store, saga.name)).toEqual([saga.id]);
    });

    test('sees what was sent before', async () => {
      const { store } = subject();
      const saga = await started(store);
      await send(store, saga, sent('reply', '1'));
      const seen: unknown[] = [];
      await store.edit(
        { id: saga.id },
        ({ signals }) => void seen.push(signals?.map(({ payload }) => payload)),
      );
      expect(seen).toEqual([['1']]);
    });
  });

  describeOf('messages')('what a checkpoint publishes', () => {
    const key = uniqueName();
    const message = (payload: string) => ({
      id: randomUUID(),
      ...{ topic: 'orders', key },
      type: 'placed',
      payload: JSON.stringify(payload),
      headers: { tenant: 'a' },
    });
    const outboxOf = async (given: readonly { readonly id: string }[]) =>
      (await subject().outbox()).filter(({ id }) => given.some((one) => one.id === id));

    test('is in the outbox once it is saved, in order', async () => {
      const { store } = subject();
      const saga = await held(store);
      const messages = AWKWARD_TEXTS.map(message);
      expect(await store.checkpoint([checkpointOf(saga, stateOf('running'), { messages })])).toEqual([
        'saved',
      ]);
      expect(await outboxOf(messages)).toEqual(messages);
    });

    test('is not if it is fenced, whatever the result of the others in its batch', async () => {
      const { store } = subject();
      const [mine, lost] = [await held(store), await held(store)];
      const [kept, dropped] = [[message('kept')], [message('dropped')]];
      const results = await store.checkpoint([
        checkpointOf({ ...lost, epoch: lost.epoch + 1 }, stateOf('running'), { messages: dropped }),
        checkpointOf(mine, stateOf('running'), { messages: kept }),
      ]);
      expect(results).toEqual(['fenced', 'saved']);
      expect(await outboxOf([...kept, ...dropped])).toEqual(kept);
    });

    test('is there once, however often the checkpoint is sent', async () => {
      const { store } = subject();
      const saga = await held(store);
      const messages = [message('once')];
      const checkpoint = checkpointOf(saga, stateOf('running'), { messages });
      for (let n = 0; n < 3; n += 1) expect(await store.checkpoint([checkpoint])).toEqual(['saved']);
      expect(await outboxOf(messages)).toEqual(messages);
    });

    testOf('messages', 'locks')('is stored with the end of a saga that holds a lock', async () => {
      const { store } = subject();
      const name = uniqueName();
      const [first, second] = [newSaga({ name, lockKey: 'k' }), newSaga({ name, lockKey: 'k' })];
      await store.start([first, second], { worker: 'w', duration: HOUR });
      const { sagas } = await claimed(store, name);
      const messages = [message('locked')];
      const lock = { name, key: 'k' };
      await store.checkpoint([{ ...lastCheckpointOf(sagas[0]!), lock, messages }]);
      expect(await outboxOf(messages)).toEqual(messages);
      expect(await claimedIds(store, name)).toEqual([second.id]);
    });

    testOf('messages')('is stored with the saga that it starts', async () => {
      const { store } = subject();
      const parent = await held(store);
      const child = { ...newSaga(), parent: { id: parent.id, step: 'ship' } };
      const messages = [message('family')];
      await store.checkpoint([checkpointOf(parent, stateOf('running'), { starts: [child], messages })]);
      expect(await outboxOf(messages)).toEqual(messages);
    });

    testOf('transactions', 'messages')('of a transaction is there only if it commits', async () => {
      const { store, advance } = subject();
      const saga = await held(store);
      const [rolledBack, committed] = [[message('no')], [message('yes')]];
      const failed = store.transact(async () => {
        throw new Error('rolled back');
      }, saga);
      await expect(failed).rejects.toThrow('rolled back');
      await advance(LEASE_MS);
      const [taken] = (await claimed(store, saga.name, 1, OTHER_WORKER)).sagas;
      const publish = (by: StoredSaga, messages: readonly StoredMessage[]) =>
        store.transact(async () => checkpointOf(by, stateOf('running'), { messages }), by);
      expect(await publish(saga, rolledBack)).toBe('fenced');
      expect(await publish(taken!, committed)).toBe('saved');
      expect(await outboxOf([...rolledBack, ...committed])).toEqual(committed);
    });
  });
}
