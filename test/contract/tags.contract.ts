import { testOf } from './features.js';
import type { Checkpoint } from '../../libs/saga/src/engine/ports/checkpoint.js';
import { newId } from '../../libs/saga/src/shared/new-id.js';
import {
  checkpointOf,
  held,
  loaded,
  newSaga,
  stateOf,
  stepOf,
  type StoreSubject,
  uniqueName,
  WORKER,
} from './store-subject.contract.js';

export function describeTags(subject: () => StoreSubject): void {
  const DONE = stateOf('running', { reserve: stepOf({ result: '1' }) });
  const found = async (tags: Record<string, string>) =>
    (await subject().store.find({ tags, limit: 10 })).map(({ id, tags }) => ({ id, tags }));
  const store = async (...checkpoints: Checkpoint[]) => subject().store.checkpoint(checkpoints);

  test('replace those of the saga, which is found by them, and by the earlier ones no more', async () => {
    const [old, now] = [uniqueName(), uniqueName()];
    const saga = await held(subject().store, { tags: { tenant: old } });
    const tags = { tenant: now, region: 'eu' };
    expect(await store(checkpointOf(saga, DONE, { tags }))).toEqual(['saved']);
    expect((await loaded(subject().store, saga.id)).tags).toEqual(tags);
    expect(await found({ tenant: now })).toEqual([{ id: saga.id, tags }]);
    expect(await found({ tenant: old })).toEqual([]);
    expect(await store(checkpointOf(saga, DONE))).toEqual(['saved']);
    expect((await loaded(subject().store, saga.id)).tags).toEqual(tags);
  });

  test.each([1, 3])('of a batch of %d are stored for those sagas only that are saved', async (count) => {
    const sagas = await Promise.all(
      Array.from({ length: count + 1 }, () => held(subject().store, { tags: { n: 'old' } })),
    );
    const made = sagas.map((saga, n) => checkpointOf(saga, DONE, n === 0 ? {} : { tags: { n: `${n}` } }));
    made[1] = { ...made[1]!, epoch: 9 };
    const results = await store(...(count === 1 ? made.slice(1) : made));
    expect(results).toEqual(
      (count === 1 ? made.slice(1) : made).map(({ epoch }) => (epoch === 9 ? 'fenced' : 'saved')),
    );
    const stored = await Promise.all(sagas.map(async ({ id }) => (await loaded(subject().store, id)).tags));
    expect(stored).toEqual(sagas.map((_, n) => ({ n: n < 2 ? 'old' : `${n}` })));
  });

  testOf('messages', 'locks')(
    'come with messages, with the end of a sub-saga, and with a lock that is handed on',
    async () => {
      const parent = await held(subject().store);
      const name = uniqueName();
      const locked = newSaga({ name, lockKey: 'k' });
      await subject().store.start([locked], WORKER);
      const sent = { id: newId(), topic: 't', key: 'k', type: 'x', payload: '1', headers: {} };
      const given: Partial<Checkpoint>[] = [
        { messages: [sent] },
        { parent: { id: parent.id, step: 'ship' }, release: {} },
        { lock: { name, key: 'k' }, release: {} },
      ];
      for (const parts of given) {
        const saga = await held(subject().store);
        const state = parts.messages ? DONE : stateOf('completed');
        expect(await store(checkpointOf(saga, state, { ...parts, tags: { region: 'eu' } }))).toEqual([
          'saved',
        ]);
        expect((await loaded(subject().store, saga.id)).tags).toEqual({ region: 'eu' });
      }
    },
  );

  test('are stored with relaxed durability as well, unless the checkpoint before is lost', async () => {
    const saga = await held(subject().store);
    const relaxed = (checkpoint: Checkpoint) => subject().store.checkpoint([checkpoint], 'relaxed');
    expect(await relaxed(checkpointOf(saga, DONE, { number: 2, tags: { n: '2' } }))).toEqual(['saved']);
    const next = { number: 5, after: 4, tags: { n: '5' } };
    expect(await relaxed(checkpointOf(saga, DONE, next))).toEqual(['fenced']);
    expect((await loaded(subject().store, saga.id)).tags).toEqual({ n: '2' });
  });

  testOf('transactions')('of the transaction of a step are stored with it', async () => {
    const saga = await held(subject().store);
    const made = checkpointOf(saga, DONE, { tags: { region: 'eu' } });
    expect(await subject().store.transact(async () => made, saga)).toEqual('saved');
    expect((await loaded(subject().store, saga.id)).tags).toEqual({ region: 'eu' });
  });

  test('that a failover has lost are put back with the state', async () => {
    const saga = await held(subject().store);
    const checkpoint = checkpointOf(saga, DONE, { number: 2, tags: { region: 'eu' } });
    await subject().store.edit({ id: saga.id }, () => ({
      putBack: { checkpoint, lease: WORKER, storedAt: 5_000 },
    }));
    expect((await loaded(subject().store, saga.id)).tags).toEqual({ region: 'eu' });
  });
}
