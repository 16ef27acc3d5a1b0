import type { SagaStore } from '../../libs/saga/src/engine/ports/saga-store.js';
import type { Child, NewSaga, StoredSaga } from '../../libs/saga/src/engine/ports/stored-saga.js';
import type { SagaStatus } from '../../libs/saga/src/definition/types/saga-status.js';
import {
  checkpointOf,
  claimed,
  claimedIds,
  held,
  LEASE_MS,
  loaded,
  newSaga,
  OTHER_WORKER,
  stateOf,
  stepOf,
  type StoreSubject,
  uniqueName,
  WORKER,
} from './store-subject.contract.js';

/** Families of sagas with semantic locks, over a store. */
export class LockFamilies {
  constructor(private readonly subject: () => StoreSubject) {}

  private get store(): SagaStore {
    return this.subject().store;
  }

  /** A saga that a worker runs, and that holds its lock, if it has one. */
  async running(given: Partial<NewSaga> = {}): Promise<StoredSaga> {
    if (given.lockKey === undefined) return held(this.store, given);
    const saga = newSaga(given);
    await this.store.start([saga], WORKER);
    return this.claim(saga);
  }

  /** One that waits in line, or is about to. */
  async stored(given: Partial<NewSaga>): Promise<NewSaga> {
    const saga = newSaga(given);
    await this.store.start([saga], WORKER);
    return saga;
  }

  /** The sub-sagas of a saga, which are due. */
  async children(parent: StoredSaga, ...given: Partial<NewSaga>[]): Promise<Child[]> {
    const starts = given.map((one, n) => ({
      ...newSaga(one),
      parent: { id: parent.id, step: `ship ${n}` },
    }));
    const steps = starts.map(({ id, parent: { step } }) => [
      step,
      stepOf({ status: 'waiting', child: { id, phase: 'running' } }),
    ]);
    const state = stateOf('running', Object.fromEntries(steps) as Record<string, ReturnType<typeof stepOf>>);
    expect(await this.store.checkpoint([checkpointOf(parent, state, { release: {}, starts })])).toEqual([
      'saved',
    ]);
    return starts;
  }

  async child(parent: StoredSaga, given: Partial<NewSaga>): Promise<Child> {
    return (await this.children(parent, given))[0]!;
  }

  /** Takes this very saga. */
  async claim({ id, name }: Pick<StoredSaga, 'id' | 'name'>): Promise<StoredSaga> {
    const { sagas } = await claimed(this.store, name);
    expect(sagas.map((saga) => saga.id)).toEqual([id]);
    return sagas[0]!;
  }

  /** The worker that holds the lease ends the saga. */
  end(saga: StoredSaga, status: SagaStatus = 'completed') {
    const { name, lock, parent } = saga;
    return this.store.checkpoint([
      checkpointOf(saga, stateOf(status, { reserve: stepOf() }), {
        release: {},
        lock: lock && { name, key: lock.key },
        parent,
      }),
    ]);
  }

  /** An operator aborts it. */
  async abort(id: string): Promise<void> {
    await this.store.edit({ id }, ({ state }) => ({
      state: { ...state, status: 'aborted' },
      step: '',
      due: false,
    }));
  }

  /** Asks a saga to undo itself. */
  async undo(id: string): Promise<void> {
    await this.store.edit({ id }, ({ state }) => ({
      state: { ...state, status: 'compensating', failure: { kind: 'undone' } },
      step: 'reserve',
      due: true,
    }));
  }
}

export function describeFamilyLocks(subject: () => StoreSubject): void {
  const family = new LockFamilies(subject);
  const lock = () => ({ name: uniqueName(), lockKey: 'k' });

  describe('a semantic lock that an ancestor holds', () => {
    test('is not waited for by a sub-saga, which runs under the hold of its parent', async () => {
      const k = lock();
      const parent = await family.running(k);
      const child = await family.claim(await family.child(parent, k));
      expect(child.lock).toEqual({ key: 'k', held: true });
      expect((await loaded(subject().store, parent.id)).lock).toEqual({ key: 'k', held: true });
      expect((await loaded(subject().store, child.id)).lock).toEqual({ key: 'k', held: true });
    });

    test('is not waited for by a sub-saga of a sub-saga that has another lock, or none', async () => {
      const k = lock();
      const parent = await family.running(k);
      const [plain, other] = await family.children(parent, {}, { name: uniqueName(), lockKey: 'other' });
      for (const between of [plain!, other!]) {
        await family.claim(await family.child(await family.claim(between), k));
      }
    });

    test('goes to the next saga in the queue when the ancestor ends, not when its sub-saga does', async () => {
      const { store } = subject();
      const k = lock();
      const parent = await family.running(k);
      const next = await family.stored(k);
      expect(await claimedIds(store, k.name)).toEqual([]);
      const child = await family.claim(await family.child(parent, k));
      expect(await family.end(child)).toEqual(['saved']);
      expect((await loaded(store, next.id)).lock).toEqual({ key: 'k', held: false, holder: parent.id });
      const again = await family.claim(parent);
      expect(await family.end(again)).toEqual(['saved']);
      await family.end(await family.claim(next));
      expect(await claimedIds(store, k.name)).toEqual([]);
    });

    test('is shared by all sub-sagas of it that are in progress', async () => {
      const { store } = subject();
      const k = lock();
      const parent = await family.running(k);
      const children = await family.children(parent, k, k);
      expect((await claimedIds(store, k.name)).sort()).toEqual(children.map(({ id }) => id).sort());
    });

    test('is waited for by the sub-sagas of others', async () => {
      const { store } = subject();
      const k = lock();
      const holder = await family.running(k);
      const child = await family.child(await family.running(), k);
      expect(await claimedIds(store, k.name)).toEqual([]);
      expect((await loaded(store, child.id)).lock).toEqual({ key: 'k', held: false, holder: holder.id });
    });

    test('is of one name and one key', async () => {
      const { store } = subject();
      const [k, other] = [lock(), { name: uniqueName(), lockKey: 'k' }];
      const parent = await family.running(k);
      await family.running(other);
      await family.running({ ...k, lockKey: 'k2' });
      const children = await family.children(parent, other, { ...k, lockKey: 'k2' });
      expect(await claimedIds(store, k.name)).toEqual([]);
      expect(await claimedIds(store, other.name)).toEqual([]);
      for (const { id } of children) expect((await loaded(store, id)).lock).toMatchObject({ held: false });
    });

    test('stays with the sub-sagas that an aborted ancestor leaves behind, and is passed on once, by the last', async () => {
      const { store } = subject();
      const k = lock();
      const parent = await family.running(k);
      await family.children(parent, k, k);
      const [first, second] = (await claimed(store, k.name)).sagas as [StoredSaga, StoredSaga];
      const next = await family.stored(k);
      const afterNext = await family.stored(k);
      await family.abort(parent.id);
      expect(await claimedIds(store, k.name)).toEqual([]);
      expect([first.id, second.id]).toContain((await loaded(store, next.id)).lock?.holder);
      await family.end(first);
      expect(await claimedIds(store, k.name)).toEqual([]);
      await family.end(second);
      await family.claim(next);
      expect((await loaded(store, afterNext.id)).lock?.holder).toBe(next.id);
    });

    test('is entered by the sub-sagas of those that an aborted ancestor leaves behind', async () => {
      const { store } = subject();
      const k = lock();
      const parent = await family.running(k);
      await family.children(parent, k, k);
      const { sagas } = await claimed(store, k.name);
      expect(sagas).toHaveLength(2);
      await family.abort(parent.id);
      // One of the two holds the lock now, and the other one has entered it.
      for (const saga of sagas) {
        const child = await family.claim(await family.child(saga, k));
        expect(child.lock).toEqual({ key: 'k', held: true });
      }
    });

    test('is waited for by a sub-saga that has not begun when its ancestor is aborted', async () => {
      const { store } = subject();
      const k = lock();
      const parent = await family.running(k);
      const next = await family.stored(k);
      expect(await claimedIds(store, k.name)).toEqual([]);
      const child = await family.child(parent, k);
      await family.abort(parent.id);
      await family.end(await family.claim(next));
      await family.end(await family.claim(child));
      expect(await claimedIds(store, k.name)).toEqual([]);
    });

    test('is waited for by the sub-saga of one that was aborted between the two', async () => {
      const { store } = subject();
      const k = lock();
      const top = await family.running(k);
      const between = await family.claim(await family.child(top, {}));
      const child = await family.child(between, k);
      await family.abort(between.id);
      expect(await claimedIds(store, k.name)).not.toContain(child.id);
      expect((await loaded(store, child.id)).lock).toEqual({ key: 'k', held: false, holder: top.id });
    });

    test('is entered by a sub-saga that waits for it when its ancestor, to be undone, takes it itself', async () => {
      const { store } = subject();
      const k = lock();
      const parent = await family.running(k);
      const child = await family.claim(await family.child(parent, k));
      await family.end(child);
      await family.end(await family.claim(parent));
      const other = await family.running(k);
      await family.undo(child.id);
      expect(await claimedIds(store, k.name)).toEqual([]);
      await family.undo(parent.id);
      await family.end(other);
      await family.claim(parent);
      expect((await family.claim(child)).lock).toEqual({ key: 'k', held: true });
    });

    test('is kept under the hold of the ancestor by a sub-saga whose worker is lost', async () => {
      const { store, advance } = subject();
      const k = lock();
      const child = await family.child(await family.running(k), k);
      await family.claim(child);
      await advance(LEASE_MS + 1);
      const { sagas } = await claimed(store, k.name, 10, OTHER_WORKER);
      expect(sagas).toMatchObject([{ id: child.id, takeovers: 1, lock: { held: true } }]);
    });

    test('is passed on to the next by the worker that takes over the ancestor', async () => {
      const { store, advance } = subject();
      const k = lock();
      const parent = await family.running(k);
      const next = await family.stored(k);
      expect(await claimedIds(store, k.name)).toEqual([]);
      const child = await family.claim(await family.child(parent, k));
      await family.end(child);
      await family.claim(parent);
      await advance(LEASE_MS + 1);
      await family.end(await family.claim(parent));
      await family.claim(next);
    });

    test('is had by a sub-saga that is undone while the ancestor holds it', async () => {
      const { store } = subject();
      const k = lock();
      const parent = await family.running(k);
      const child = await family.claim(await family.child(parent, k));
      await family.end(child);
      await family.claim(parent);
      await family.undo(child.id);
      const undone = await family.claim(child);
      expect(undone).toMatchObject({ state: { status: 'compensating' }, lock: { held: true } });
      await family.end(undone, 'compensated');
      expect((await loaded(store, parent.id)).lock).toEqual({ key: 'k', held: true });
    });

    test('is had by a sub-saga that was undone before its ancestor, once that has it', async () => {
      const { store } = subject();
      const k = lock();
      const parent = await family.running(k);
      const child = await family.claim(await family.child(parent, k));
      await family.end(child);
      await family.end(await family.claim(parent));
      const other = await family.running(k);
      await family.undo(child.id);
      await family.undo(parent.id);
      expect(await claimedIds(store, k.name)).toEqual([]);
      await family.end(other);
      const { sagas } = await claimed(store, k.name);
      expect(sagas.map(({ id }) => id).sort()).toEqual([parent.id, child.id].sort());
    });
  });
}
