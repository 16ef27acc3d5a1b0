import type { Child, StoredSaga } from '../../libs/saga/src/engine/ports/stored-saga.js';
import { LockFamilies } from './family-lock.contract.js';
import {
  claimed,
  claimedIds,
  LEASE_MS,
  loaded,
  OTHER_WORKER,
  type StoreSubject,
  uniqueName,
} from './store-subject.contract.js';

export function describeLockCircles(subject: () => StoreSubject): void {
  const family = new LockFamilies(subject);
  const lock = () => ({ name: uniqueName(), lockKey: 'k' });
  /**
   * For a saga that must fail: the saga whose lock it would have waited for, and the one that waits for its
   * lock.
   */
  const circle = (holder: StoredSaga, held: StoredSaga) => ({
    key: 'k',
    holder: { id: holder.id, name: holder.name },
    held: { id: held.id, name: held.name, key: 'k' },
  });
  const waits = async ({ id, name }: Pick<StoredSaga, 'id' | 'name'>) => {
    expect(await claimedIds(subject().store, name)).toEqual([]);
    const saga = await loaded(subject().store, id);
    expect(saga.lock).toMatchObject({ held: false });
    expect(saga.dueAt).toBeUndefined();
  };

  describe('a deadlock of sagas that wait for locks', () => {
    test('is not closed: the sub-saga that would close it has no lock, and is to fail', async () => {
      const { store } = subject();
      const [a, b] = [lock(), lock()];
      const [first, second] = [await family.running(a), await family.running(b)];
      await waits(await family.child(first, b));
      const closing = await family.claim(await family.child(second, a));
      expect(closing.lock).toBeUndefined();
      expect(closing.deadlock).toEqual(circle(first, second));
      expect((await loaded(store, closing.id)).deadlock).toEqual(circle(first, second));
    });

    test('is not forgotten with the worker that was to let it fail', async () => {
      const { store, advance } = subject();
      const [a, b] = [lock(), lock()];
      const [first, second] = [await family.running(a), await family.running(b)];
      await waits(await family.child(first, b));
      const closing = await family.child(second, a);
      await family.claim(closing);
      await advance(LEASE_MS + 1);
      const { sagas } = await claimed(store, a.name, 10, OTHER_WORKER);
      const again = sagas.find(({ id }) => id === closing.id)!;
      expect(again).toMatchObject({ takeovers: 1, deadlock: circle(first, second) });
      expect(again.lock).toBeUndefined();
    });

    test('leaves what waits to go on once the one that was to fail has ended', async () => {
      const { store } = subject();
      const [a, b] = [lock(), lock()];
      const [first, second] = [await family.running(a), await family.running(b)];
      const waiting = await family.child(first, b);
      await waits(waiting);
      const closing = await family.claim(await family.child(second, a));
      expect(await family.end(closing, 'compensated')).toEqual(['saved']);
      await family.end(await family.claim(second), 'compensated');
      expect((await family.claim(waiting)).lock).toEqual({ key: 'k', held: true });
      expect((await loaded(store, first.id)).lock).toEqual({ key: 'k', held: true });
    });

    test('is seen through any number of families, and sagas without a lock between', async () => {
      const locks = [lock(), lock(), lock()];
      const holders: StoredSaga[] = [];
      for (const one of locks) holders.push(await family.running(one));
      const inner: StoredSaga[] = [];
      for (const holder of holders) inner.push(await family.claim(await family.child(holder, {})));
      await waits(await family.child(inner[0]!, locks[1]!));
      await waits(await family.child(inner[1]!, locks[2]!));
      const closing = await family.claim(await family.child(inner[2]!, locks[0]!));
      expect(closing.deadlock).toEqual(circle(holders[0]!, holders[2]!));
    });

    test('is seen where one runs under the lock of an ancestor', async () => {
      const [a, b] = [lock(), lock()];
      const [first, second] = [await family.running(a), await family.running(b)];
      await waits(await family.child(await family.claim(await family.child(first, a)), b));
      const closing = await family.claim(await family.child(second, a));
      expect(closing.deadlock).toBeDefined();
    });

    test('is seen where one has entered the lock that another sub-saga of an aborted saga holds', async () => {
      const { store } = subject();
      const [a, b] = [lock(), lock()];
      const parent = await family.running(a);
      await family.children(parent, a, a);
      const { sagas } = await claimed(store, a.name);
      await family.abort(parent.id);
      const second = await family.running(b);
      const { holder } = (await loaded(store, (await family.stored(a)).id)).lock!;
      await waits(
        await family.child(
          sagas.find(({ id }) => id !== holder)!,
          b,
        ),
      );
      const closing = await family.claim(await family.child(second, a));
      expect(closing.deadlock).toMatchObject({ holder: { id: holder }, held: { id: second.id } });
    });

    test('is none while one of them waits for a saga that waits for no other', async () => {
      const [a, b, c] = [lock(), lock(), lock()];
      const [first, second] = [await family.running(a), await family.running(b)];
      await family.running(c);
      await waits(await family.child(first, b));
      await waits(await family.child(second, c));
      await waits(await family.child(await family.running(), a));
    });

    test('is not closed by sagas that queue when a lock is passed on', async () => {
      const [a, b] = [lock(), lock()];
      const first = await family.running(a);
      const before = await family.running(b);
      const second = await family.stored(b);
      await waits(second);
      await waits(await family.child(first, b));
      await family.end(before);
      const closing = await family.claim(await family.child(await family.claim(second), a));
      expect(closing.deadlock).toMatchObject({ holder: { id: first.id }, held: { id: second.id } });
    });

    test('is broken by the other saga, if the one that would close it is compensated', async () => {
      const { store } = subject();
      const [a, b] = [lock(), lock()];
      const first = await family.running(a);
      const done = await family.claim(await family.child(first, b));
      await family.end(done);
      await family.claim(first);
      const second = await family.running(b);
      const failing = await family.child(second, a);
      await waits(failing);
      await family.undo(done.id);
      await waits(done);
      const failed = await family.claim(failing);
      expect(failed.lock).toBeUndefined();
      expect(failed.deadlock).toEqual(circle(first, second));
      expect((await loaded(store, done.id)).deadlock).toBeUndefined();
    });

    test('is broken by no other than those that wait for the family of the one that is undone', async () => {
      const { store } = subject();
      const [a, b, c] = [lock(), lock(), lock()];
      const first = await family.running(a);
      const done = await family.claim(await family.child(first, b));
      await family.end(done);
      await family.claim(first);
      const [second, third] = [await family.running(b), await family.running(c)];
      const between = await family.child(second, c);
      await waits(between);
      const failing = await family.child(third, a);
      await waits(failing);
      await family.undo(done.id);
      await waits(done);
      expect((await family.claim(failing)).deadlock).toEqual(circle(first, third));
      expect(await loaded(store, between.id)).toMatchObject({ lock: { held: false, holder: third.id } });
      expect((await loaded(store, between.id)).deadlock).toBeUndefined();
    });

    test('is broken once a paused saga of it goes on', async () => {
      const { store } = subject();
      const [a, b] = [lock(), lock()];
      const first = await family.running(a);
      const done = await family.claim(await family.child(first, b));
      await family.end(done);
      await family.claim(first);
      const failing = await family.child(await family.running(b), a);
      await waits(failing);
      const to = (status: 'paused' | 'running', due: boolean) =>
        store.edit({ id: failing.id }, ({ state }) => ({
          state: { ...state, status, heldPhase: due ? undefined : 'running' },
          step: '',
          due,
        }));
      await to('paused', false);
      await family.undo(done.id);
      await waits(done);
      expect(await claimedIds(store, failing.name)).toEqual([]);
      await to('running', true);
      expect((await family.claim(failing)).deadlock).toBeDefined();
    });

    test('makes one that is undone fail, if all others are undone as well, and is looked for again by its retry', async () => {
      const { store } = subject();
      const [a, b] = [lock(), lock()];
      const parents: StoredSaga[] = [];
      const undone: Child[] = [];
      for (const [own, other] of [
        [a, b],
        [b, a],
      ] as const) {
        const parent = await family.running(own);
        const child = await family.child(parent, other);
        const done = await family.claim(child);
        await family.end(done);
        await family.end(await family.claim(parent));
        parents.push(parent);
        undone.push(child);
      }
      for (const { id, name } of parents) {
        await family.undo(id);
        expect(await claimedIds(store, name)).toEqual([id]);
      }
      await family.undo(undone[0]!.id);
      await waits(undone[0]!);
      await family.undo(undone[1]!.id);
      const [closing] = (await claimed(store, a.name)).sagas;
      expect(closing).toMatchObject({ id: undone[1]!.id, state: { status: 'compensating' } });
      expect(closing!.deadlock).toBeDefined();
      expect(closing!.lock).toBeUndefined();
      await family.abort(parents[0]!.id);
      await family.undo(closing!.id);
      const again = (await claimed(store, a.name)).sagas[0]!;
      expect(again).toMatchObject({ id: closing!.id, lock: { held: true } });
      expect(again.deadlock).toBeUndefined();
    });
  });
}
