import type { CleanupBatch } from '../../libs/saga/src/engine/ports/cleanup-store.js';
import type { StoredSaga } from '../../libs/saga/src/engine/ports/stored-saga.js';
import {
  checkpointOf,
  claimed,
  held,
  lastCheckpointOf,
  newSaga,
  started,
  stateOf,
  stepOf,
  type StoreSubject,
  uniqueName,
} from './store-subject.contract.js';

const DAY = 86_400_000;

export function describeCleanup(subject: () => StoreSubject): void {
  describe('ended sagas', () => {
    const batch = (name: string, given: Partial<CleanupBatch> = {}) =>
      subject().cleanup.batch({ name, age: DAY, most: 10, dryRun: false, alone: false, ...given });
    const isThere = async ({ id }: Pick<StoredSaga, 'id'>) =>
      (await subject().store.load({ id })) !== undefined;

    /** Sagas of a name that ended one after the other, all of them more than a day ago. */
    async function ended(name: string, count: number): Promise<StoredSaga[]> {
      const { store, advance } = subject();
      const sagas: StoredSaga[] = [];
      for (let n = 0; n < count; n += 1) {
        const saga = await held(store, { name });
        await store.checkpoint([lastCheckpointOf(saga)]);
        sagas.push(saga);
        await advance(1_000);
      }
      await advance(DAY);
      return sagas;
    }

    test('are deleted once they are old enough, whatever they came to, and no others', async () => {
      const { store, cleanup, advance } = subject();
      const name = uniqueName();
      const old: StoredSaga[] = [];
      for (const status of ['completed', 'compensated', 'aborted'] as const) {
        const saga = await held(store, { name });
        await store.checkpoint([lastCheckpointOf(saga, status)]);
        old.push(saga);
      }
      const stuck = await held(store, { name });
      await store.checkpoint([lastCheckpointOf(stuck, 'stuck')]);
      const running = await started(store, { name });
      const [other] = await ended(uniqueName(), 1);
      await advance(DAY);
      const young = await held(store, { name });
      await store.checkpoint([lastCheckpointOf(young)]);
      expect(await cleanup.ready(new AbortController().signal)).toBe(true);
      expect(await batch(name)).toEqual({ gone: 3 });
      expect(await Promise.all([...old, stuck, running, young, other!].map(isThere))).toEqual([
        ...[false, false, false],
        ...[true, true, true, true],
      ]);
    });

    test('are deleted in batches, the oldest end first', async () => {
      const name = uniqueName();
      const sagas = await ended(name, 3);
      const first = await batch(name, { most: 2 });
      expect(first).toMatchObject({ gone: 2, next: { id: sagas[1]!.id } });
      expect(await Promise.all(sagas.map(isThere))).toEqual([false, false, true]);
      expect(await batch(name, { most: 2, after: first!.next })).toEqual({ gone: 1 });
      expect(await batch(name)).toEqual({ gone: 0 });
    });

    test('are counted, and kept, by a dry run', async () => {
      const name = uniqueName();
      const sagas = await ended(name, 2);
      expect(await batch(name, { dryRun: true })).toEqual({ gone: 2 });
      expect(await Promise.all(sagas.map(isThere))).toEqual([true, true]);
    });

    test('are deleted with the sagas that they started, and not before these have ended', async () => {
      const { store, advance } = subject();
      const parent = await held(store);
      const child = { ...newSaga(), parent: { id: parent.id, step: 'ship' } };
      const done = stateOf('running', { reserve: stepOf() });
      await store.checkpoint([checkpointOf(parent, done, { starts: [child] })]);
      await store.checkpoint([lastCheckpointOf(parent)]);
      await advance(2 * DAY);
      expect(await batch(parent.name)).toEqual({ gone: 0 });
      const [taken] = (await claimed(store, child.name)).sagas;
      await store.checkpoint([lastCheckpointOf(taken!)]);
      expect(await batch(child.name, { age: 0 })).toEqual({ gone: 0 });
      expect(await batch(parent.name)).toEqual({ gone: 2 });
      expect([await isThere(parent), await isThere(child)]).toEqual([false, false]);
    });
  });
}
