import { testOf } from './features.js';
import {
  checkpointOf,
  held,
  lastCheckpointOf,
  loaded,
  started,
  stateOf,
  type StoreSubject,
  uniqueName,
} from './store-subject.contract.js';

const HOUR = 3_600_000;

export function describeReports(subject: () => StoreSubject): void {
  const marked = async (...names: string[]) =>
    (await subject().store.markOverdue(names, 100)).map(({ id }) => id);

  describe('sagas with an sla', () => {
    test('are overdue after it, and are reported once, the longest overdue first', async () => {
      const { store, advance } = subject();
      const name = uniqueName();
      const late = await started(store, { name, sla: 2 * HOUR, correlationId: 'late' });
      const later = await held(store, { name, sla: 1.5 * HOUR });
      const never = await started(store, { name });
      expect(await marked(name)).toEqual([]);
      expect((await loaded(store, late.id)).slaAt! - late.createdAt).toBeCloseTo(2 * HOUR, -2);
      await advance(3 * HOUR);
      const overdue = await store.markOverdue([name], 1);
      expect(overdue).toEqual([
        {
          ...{ id: later.id, name, version: 1, status: 'running', step: 'reserve' },
          ...{ correlationId: undefined, slaAt: expect.any(Number) },
        },
      ]);
      expect(await store.markOverdue([name], 100)).toMatchObject([{ id: late.id, correlationId: 'late' }]);
      expect(await marked(name)).toEqual([]);
      expect((await loaded(store, late.id)).overdue).toBe(true);
      expect((await loaded(store, never.id)).overdue).toBe(undefined);
    });

    test('count from when they may begin', async () => {
      const { store, advance } = subject();
      const { id, name } = await started(store, { sla: HOUR, delay: 2 * HOUR });
      await advance(2.5 * HOUR);
      expect(await marked(name)).toEqual([]);
      await advance(HOUR);
      expect(await marked(name)).toEqual([id]);
    });

    test('are not overdue once they have ended, and are reported only for their name', async () => {
      const { store, advance } = subject();
      const name = uniqueName();
      const ended = await held(store, { name, sla: HOUR });
      await store.checkpoint([lastCheckpointOf(ended)]);
      const stuck = await held(store, { name, sla: HOUR });
      await store.checkpoint([lastCheckpointOf(stuck, 'stuck')]);
      await advance(2 * HOUR);
      expect(await marked(uniqueName())).toEqual([]);
      expect(await marked(name)).toEqual([stuck.id]);
    });
  });

  describe('the backlog', () => {
    const countsOf = async (name: string) =>
      (await subject().store.stats()).sagas.filter((one) => one.name === name);

    test('is counted by name, version and status, as far as it has not ended', async () => {
      const { store } = subject();
      const name = uniqueName();
      expect(await countsOf(name)).toEqual([]);
      await started(store, { name });
      await held(store, { name });
      await started(store, { name, version: 2 });
      const [waits, stuck, ended] = [
        ...[await held(store, { name }), await held(store, { name }), await held(store, { name })],
      ];
      await store.checkpoint([
        checkpointOf(waits!, stateOf('running'), { release: {} }),
        lastCheckpointOf(stuck!, 'stuck'),
        lastCheckpointOf(ended!),
      ]);
      expect(await countsOf(name)).toEqual([
        { name, version: 1, status: 'running', count: 3 },
        { name, version: 1, status: 'stuck', count: 1 },
        { name, version: 2, status: 'running', count: 1 },
      ]);
    });

    test('contains sagas that no worker holds and whose time has come, with the age since then', async () => {
      const { store, advance } = subject();
      const before = await store.stats();
      await started(store, { delay: HOUR });
      const { createdAt } = await started(store);
      await held(store);
      const after = await store.stats();
      expect(after.due - before.due).toBe(1);
      expect(after.oldestDue!).toBeLessThanOrEqual(createdAt);
      await advance(2 * HOUR);
      // The one with the delay, and the one whose worker has been silent since.
      expect((await store.stats()).due - before.due).toBeGreaterThanOrEqual(3);
    });

    test('is overdue as long as it has not ended', async () => {
      const { store, advance } = subject();
      const before = (await store.stats()).overdue;
      const saga = await held(store, { sla: HOUR });
      await advance(2 * HOUR);
      await store.markOverdue([saga.name], 1);
      expect((await store.stats()).overdue).toBe(before + 1);
      await store.checkpoint([lastCheckpointOf(saga)]);
      expect((await store.stats()).overdue).toBe(before);
    });

    testOf('an outbox of its own')('is what is in the outbox, too', async () => {
      const { store } = subject();
      const before = (await store.stats()).messages;
      const saga = await held(store);
      const message = { id: saga.id, topic: 'orders', key: 'a', type: 'placed', payload: '1', headers: {} };
      await store.checkpoint([checkpointOf(saga, stateOf('running'), { messages: [message] })]);
      expect((await store.stats()).messages).toBe(before + 1);
    });
  });
}
