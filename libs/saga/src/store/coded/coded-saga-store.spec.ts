import type { SagaStore } from '../../engine/ports/saga-store.js';
import type { StoredSaga } from '../../engine/ports/stored-saga.js';
import type { SagaState } from '../../machine/saga-state.js';
import {
  checkpointOf,
  claimed,
  held,
  LEASE_MS,
  loaded,
  newSaga,
  started,
  stateOf,
  stepOf,
  uniqueName,
  WORKER,
} from '../../../../../test/contract/store-subject.contract.js';
import { MemorySagaStore } from '../memory/memory-saga-store.js';
import { codedSagaStore } from './coded-saga-store.js';
import { coded, old, plain } from '../../../../../test/contract/coded-subject.contract.js';

const SECRET = 'marker-7f3a';
const said = (extra = {}) => ({ name: 'Declined', message: SECRET, stack: `at ${SECRET}`, ...extra });
const FULL: SagaState = stateOf(
  'running',
  {
    charge: stepOf({
      status: 'failed',
      result: JSON.stringify({ card: SECRET }),
      errors: [{ ...said({ cause: said() }), attempt: 1, at: '2026-01-01', during: 'step' }],
    }),
    ship: stepOf({ status: 'running', items: [JSON.stringify(SECRET), '"b"'] }),
    'ship[0]': stepOf({ result: JSON.stringify(SECRET) }),
    reply: stepOf({
      status: 'waiting',
      wait: { signal: 'reply', takenSignal: 1, payload: JSON.stringify(SECRET) },
    }),
  },
  { failure: { kind: 'error', step: 'charge', error: said(), reason: SECRET } },
);

/** A saga of which every part holds the secret. */
async function full(store: SagaStore, name = uniqueName()) {
  const saga = await held(store, { name, input: JSON.stringify({ card: SECRET }) });
  await store.signal([
    { target: { id: saga.id }, name: 'reply', messageId: saga.id, payload: JSON.stringify(SECRET) },
  ]);
  const checkpoint = checkpointOf(saga, FULL, { release: { dueAt: saga.createdAt } });
  expect(await store.checkpoint([checkpoint])).toEqual(['saved']);
  return loaded(store, saga.id);
}

const failure = (keyId?: string): unknown => expect.objectContaining({ code: 'SAGA_CODEC', keyId });

describe('a saga in a coded store', () => {
  test('is stored without a word of what it was given and gave', async () => {
    const inner = new MemorySagaStore();
    const saga = await full(coded(inner));
    expect(saga.state).toEqual(FULL);
    const maps = (_: string, value: unknown): unknown =>
      value instanceof Map ? Array.from(value as Map<string, unknown>) : value;
    const stored = JSON.stringify(await inner.load({ id: saga.id }), maps);
    expect(stored).not.toContain(SECRET);
    expect(stored.match(/saga:coded:/g)).toHaveLength(14);
    // What people go by, and what SQL asks for.
    for (const readable of ['Declined', '"kind":"error"', '"takenSignal":1', '2026-01-01'])
      expect(stored).toContain(readable);
  });

  test('is read and run by every process that has its key, and written with the newest', async () => {
    const inner = new MemorySagaStore();
    const { id, name } = await full(codedSagaStore(inner, old));
    const store = coded(inner);
    const [saga] = (await claimed(store, name)).sagas;
    expect(saga).toMatchObject({ id, state: FULL, signals: [{ payload: JSON.stringify(SECRET) }] });
    await store.checkpoint([checkpointOf(saga!, FULL, { changed: ['charge'] })]);
    const { steps } = (await loaded(inner, id)).state;
    expect(steps.get('charge')!.result).toMatch(/^"saga:coded:1\.new\./);
    expect(steps.get('ship[0]')!.result).toMatch(/^"saga:coded:1\.old\./);
    expect((await loaded(store, id)).state).toEqual(FULL);
  });

  test('is read and run if it was stored before there was a codec', async () => {
    const inner = new MemorySagaStore();
    const before = await full(plain(inner));
    expect(await loaded(coded(inner), before.id)).toEqual(before);
    expect((await claimed(coded(inner), before.name)).sagas).toMatchObject([{ state: FULL }]);
  });

  test('conflicts with another input, and not with the same', async () => {
    const inner = new MemorySagaStore();
    const given = newSaga({ input: '{"a":1}' });
    await codedSagaStore(inner, old).start([given], WORKER);
    expect(await coded(inner).start([given], WORKER)).toEqual([
      { created: false, existing: expect.objectContaining({ id: given.id, input: '{"a":1}' }) },
    ]);
  });
});

describe.each([
  ['by another key', (inner: SagaStore) => codedSagaStore(inner, old), 'new'],
  ['where there is no codec', plain, undefined],
])('what cannot be decoded %s', (_, foreign, keyId) => {
  test('is not run without its key, blocks no other saga, and becomes due for other workers later', async () => {
    let now = Date.UTC(2026, 0, 1);
    const inner = new MemorySagaStore({ now: () => now });
    const [mine, theirs] = [foreign(inner), coded(inner)];
    const name = uniqueName();
    const first = await full(theirs, name);
    const readable = await started(mine, { name });
    const second = await full(theirs, name);
    const claim = await claimed(mine, name);
    expect(claim).toMatchObject({ sagas: [{ id: readable.id }], nextDueAt: claim.now });
    expect(claim.failure).toEqual(failure(keyId));
    expect((claim.failure as Error).message).toMatch(/of saga .*1 other.*lease is released/);
    expect(await claimed(mine, name)).toMatchObject({ sagas: [], nextDueAt: now + LEASE_MS });
    now += LEASE_MS;
    const { sagas } = await claimed(theirs, name);
    expect(sagas.filter(({ id }) => id !== readable.id)).toMatchObject([
      { id: first.id, state: FULL, takeovers: 0, losses: 0 },
      { id: second.id, state: FULL, takeovers: 0, losses: 0 },
    ]);
  });

  test('is reported as unreadable to a start that finds it, and to no other start', async () => {
    const inner = new MemorySagaStore();
    const given = newSaga({ input: '1' });
    await coded(inner).start([given], WORKER);
    const [there, fresh] = await foreign(inner).start([given, newSaga({ input: '1' })], WORKER);
    expect(there).toMatchObject({ created: false, existing: { id: given.id, unreadable: failure(keyId) } });
    expect(fresh).toMatchObject({ created: true });
  });

  test('is never given to a parent, nor as a signal', async () => {
    const inner = new MemorySagaStore();
    const { id } = await full(coded(inner));
    await expect(foreign(inner).pendingSignals(id)).rejects.toEqual(failure(keyId));
    await coded(inner).edit({ id }, ({ state }) => ({
      ...{ state: { ...state, status: 'completed' }, due: false, step: '' },
    }));
    await expect(foreign(inner).ended([id])).rejects.toEqual(failure(keyId));
  });

  test('is shown in lists as it is stored', async () => {
    const inner = new MemorySagaStore();
    const { id, name } = await full(coded(inner));
    const [row] = await foreign(inner).find({ name, limit: 1 });
    expect(row).toMatchObject({ id, error: expect.stringMatching(/^saga:coded:1\.new\./) });
  });

  test('does not keep a worker from hearing of a cancellation', async () => {
    const inner = new MemorySagaStore();
    const saga = await held(foreign(inner));
    await coded(inner).edit({ id: saga.id }, () => ({ requestCancel: { reason: SECRET } }));
    const { cancelled } = await foreign(inner).renew([saga], WORKER);
    // Its reason would be passed to compensations.
    expect(cancelled).toEqual([{ id: saga.id }]);
    expect((await coded(inner).renew([saga], WORKER)).cancelled).toEqual([{ id: saga.id, reason: SECRET }]);
  });
});

describe('a process with another key', () => {
  test('cannot read a saga, wait for it, or change it, and receives the cause', async () => {
    const inner = new MemorySagaStore();
    const { id } = await full(coded(inner));
    const store = codedSagaStore(inner, old);
    await expect(store.load({ id })).rejects.toThrow(
      `The input of saga ${id} cannot be decoded: the key 'new'`,
    );
    const before = await inner.load({ id });
    await expect(store.edit({ id }, ({ state }) => ({ state, due: true, step: '' }))).rejects.toEqual(
      failure('new'),
    );
    expect(await inner.load({ id })).toEqual(before);
    const readable = await held(store);
    for (const saga of [await loaded(coded(inner), id), readable])
      await coded(inner).edit({ id: saga.id }, ({ state }) => ({
        ...{ state: { ...state, status: 'stuck' }, due: false, step: '' },
      }));
    const watched = await store.watch([id, readable.id]);
    expect(watched).toEqual([
      { id, unreadable: failure('new') },
      expect.objectContaining({ id: readable.id }),
    ]);
  });
});

describe('a process without a codec', () => {
  test('sees what is encoded as it is stored, and may change the rest', async () => {
    const inner = new MemorySagaStore();
    const { id } = await full(coded(inner));
    const store = plain(inner);
    const seen = await loaded(store, id);
    expect(JSON.parse(seen.input!)).toMatch(/^saga:coded:1\.new\./);
    await store.edit({ id }, ({ state }) => ({
      ...{ state: { ...state, status: 'aborted' }, due: false, step: '' },
    }));
    expect((await store.watch([id])).map((saga) => saga.id)).toEqual([id]);
    expect((await loaded(coded(inner), id)).state).toEqual({ ...FULL, status: 'aborted' });
  });

  test('cannot read, and so not move, what is encoded and belongs elsewhere: signals, and what operators gave', async () => {
    const inner = new MemorySagaStore();
    const { id } = await full(coded(inner));
    await coded(inner).edit({ id }, () => ({
      proposal: true,
      operation: {
        ...({ action: 'resolve', from: 'stuck', proposed: true } as const),
        ...{ id, by: 'ann', step: 'charge', revision: 1, reason: SECRET, given: JSON.stringify(SECRET) },
      },
    }));
    const message = expect.stringMatching(/is encoded, but this process has no codec\. Make the call in/);
    const reading = async (read: (saga: StoredSaga) => unknown) =>
      plain(inner).edit({ id }, (saga) => void read(saga));
    for (const read of [
      ({ signals }: StoredSaga) => signals![0]!.payload,
      ({ operations }: StoredSaga) => operations![0]!.reason,
      ({ operations }: StoredSaga) => ({ ...operations![0]! }),
    ])
      await expect(reading(read)).rejects.toMatchObject({ code: 'SAGA_CODEC', sagaId: id, message });
    await reading(({ signals, operations }) => {
      expect([signals![0]!.name, operations![0]!.by]).toEqual(['reply', 'ann']);
    });
  });

  test('does not give the reason of a cancellation, which it cannot decode, to its worker', async () => {
    const inner = new MemorySagaStore();
    const { id } = await held(plain(inner));
    await coded(inner).edit({ id }, () => ({ requestCancel: { reason: SECRET } }));
    expect((await loaded(plain(inner), id)).cancelRequested).toEqual({});
    expect((await loaded(coded(inner), id)).cancelRequested).toEqual({ reason: SECRET });
  });
});

test('a value that the codec cannot encode is not stored, nor is anything in the same call', async () => {
  const inner = new MemorySagaStore();
  const encode = () => {
    throw new Error('the keys are locked away');
  };
  const store = codedSagaStore(inner, { encode, decode: (text) => text });
  const saga = newSaga({ input: '1' });
  await expect(store.start([saga], WORKER)).rejects.toThrow(
    `The input of saga ${saga.id} could not be encoded: the keys are locked away.`,
  );
  expect(await inner.load({ id: saga.id })).toBeUndefined();
  const running = await held(inner);
  const checkpoint = checkpointOf(running, FULL);
  await expect(store.checkpoint([checkpoint])).rejects.toEqual(failure());
  await expect(store.transact(async () => checkpoint, running)).rejects.toEqual(failure());
  expect(await inner.load({ id: running.id })).toEqual(running);
});
