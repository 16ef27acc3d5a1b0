import type { EntityManager } from 'typeorm';
import {
  checkpointOf,
  held,
  newSaga,
  stateOf,
  WORKER,
} from '../../../../../test/contract/store-subject.contract.js';
import { describeSagaStore } from '../../../../../test/contract/saga-store.contract.js';
import { MemorySagaStore } from './memory-saga-store.js';
import { memorySubject } from '../../../../../test/contract/memory-subject.contract.js';

describeSagaStore('MemorySagaStore', () => memorySubject());

describe('MemorySagaStore in a test', () => {
  test('goes by the time of day if it is given no clock', async () => {
    const before = Date.now();
    const [result] = await new MemorySagaStore().start([newSaga()], WORKER);
    expect(result).toMatchObject({ created: true });
    expect(result?.created && result.now).toBeGreaterThanOrEqual(before);
  });

  test('gives transactional steps the manager that the test provides', async () => {
    const manager = { isFake: true } as unknown as EntityManager;
    for (const given of [manager, undefined]) {
      const store = new MemorySagaStore({ manager: given });
      const saga = await held(store);
      const seen: unknown[] = [];
      const result = await store.transact(async (m) => {
        seen.push(m);
        return checkpointOf(saga, stateOf('running'));
      });
      expect({ seen, result }).toEqual({ seen: [{ transaction: given, manager: given }], result: 'saved' });
    }
  });

  test('keeps a settled saga idle whatever its last holder renews', async () => {
    const store = new MemorySagaStore();
    const saga = await held(store);
    await store.checkpoint([checkpointOf(saga, stateOf('completed'))]);
    expect((await store.renew([saga], WORKER)).lost).toEqual([]);
    expect((await store.load({ id: saga.id }))?.dueAt).toBeUndefined();
  });

  test('starts sagas within any transaction, immediately', async () => {
    const store = new MemorySagaStore();
    const saga = newSaga();
    await store.startWithin({}, saga, WORKER);
    expect(await store.load({ id: saga.id })).toMatchObject({ name: saga.name });
  });

  test('names the path of a value that cannot be stored', async () => {
    const start = new MemorySagaStore().start([newSaga({ tags: { tenant: 'a\0' } })], WORKER);
    await expect(start).rejects.toThrow('sagas.0.tags.tenant');
  });
});
