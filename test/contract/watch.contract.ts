import { testOf } from './features.js';
import { newId } from '../../libs/saga/src/shared/new-id.js';
import {
  checkpointOf,
  eventually,
  held,
  lastCheckpointOf,
  loaded,
  started,
  stateOf,
  type StoreSubject,
} from './store-subject.contract.js';

export function describeWatching(subject: () => StoreSubject): void {
  describe('a process that waits for a saga', () => {
    const settled = (id: string) => ({ type: 'settled', id });

    test('receives which are settled already', async () => {
      const { store } = subject();
      const [done, stuck, running] = [await held(store), await held(store), await held(store)];
      await store.checkpoint([lastCheckpointOf(done), lastCheckpointOf(stuck, 'stuck')]);
      const found = await store.watch([running.id, done.id, newId(), stuck.id]);
      const byId = (a: { id: string }, b: { id: string }) => (a.id < b.id ? -1 : 1);
      expect([...found].sort(byId)).toEqual(
        [await loaded(store, done.id), await loaded(store, stuck.id)].sort(byId),
      );
      expect(await store.watch([])).toEqual([]);
    });

    test.each(['completed', 'compensated', 'aborted', 'stuck', 'suspended'] as const)(
      'receives that it is %s',
      async (status) => {
        const { store, messages } = subject();
        const saga = await held(store);
        expect(await store.watch([saga.id])).toEqual([]);
        await store.checkpoint([checkpointOf(saga, stateOf('running'))]);
        await store.checkpoint([lastCheckpointOf(saga, status)]);
        await eventually(() => expect(messages).toContainEqual(settled(saga.id)));
      },
    );

    test('receives that an operator settled it', async () => {
      const { store, messages } = subject();
      const saga = await started(store);
      await store.watch([saga.id]);
      await store.edit({ id: saga.id }, () => ({ state: stateOf('aborted'), due: false, step: '' }));
      await eventually(() => expect(messages).toContainEqual(settled(saga.id)));
    });

    testOf('transactions')('receives that a transaction settled it', async () => {
      const { store, messages } = subject();
      const saga = await held(store);
      await store.watch([saga.id]);
      await store.transact(async () => lastCheckpointOf(saga), saga);
      await eventually(() => expect(messages).toContainEqual(settled(saga.id)));
    });

    test('receives nothing about sagas that are running, were not saved, or have no waiter', async () => {
      const { store, messages } = subject();
      const sagas = [await held(store), await held(store), await held(store), await held(store)] as const;
      const [goesOn, fenced, unwatched, watched] = sagas;
      await store.watch([goesOn.id, fenced.id, watched.id]);
      await store.checkpoint([
        checkpointOf(goesOn, stateOf('running')),
        lastCheckpointOf({ ...fenced, epoch: fenced.epoch + 1 }),
        lastCheckpointOf(unwatched),
      ]);
      await store.checkpoint([lastCheckpointOf(watched)]);
      await eventually(() => expect(messages).toContainEqual(settled(watched.id)));
      const received = messages.flatMap((message) => (message.type === 'settled' ? message.id : []));
      expect(received.filter((id) => sagas.some((saga) => saga.id === id))).toEqual([watched.id]);
    });

    test('receives each of many that settled in one batch', async () => {
      const { store, messages } = subject();
      const sagas = [];
      for (let n = 0; n < 20; n += 1) sagas.push(await held(store));
      const ids = sagas.map(({ id }) => id);
      await store.watch(ids);
      await store.checkpoint(sagas.map((saga) => lastCheckpointOf(saga)));
      await eventually(() => expect(messages).toEqual(expect.arrayContaining(ids.map(settled))));
    });

    test('receives which do not exist', async () => {
      const { store } = subject();
      const [there, ended, gone] = [await held(store), await held(store), newId()];
      await store.checkpoint([lastCheckpointOf(ended)]);
      expect(await store.missing([there.id, gone, ended.id])).toEqual([gone]);
      expect(await store.missing([])).toEqual([]);
    });

    test('changes nothing else by waiting', async () => {
      const { store } = subject();
      const saga = await held(store);
      await store.watch([saga.id]);
      const { updatedAt, ...stored } = await loaded(store, saga.id);
      expect({ ...stored, updatedAt: saga.updatedAt }).toEqual(saga);
      expect(updatedAt).toEqual(expect.any(Number));
      expect(await store.checkpoint([lastCheckpointOf(saga)])).toEqual(['saved']);
    });
  });
}
