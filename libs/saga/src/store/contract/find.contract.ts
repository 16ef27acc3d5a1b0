import type { SagaState } from '../../machine/saga-state.js';
import type { StoreFilter } from '../../engine/ports/saga-store.js';
import {
  checkpointOf,
  held,
  lastCheckpointOf,
  newSaga,
  started,
  stateOf,
  stepOf,
  type StoreSubject,
  uniqueName,
  WORKER,
} from './store-subject.contract.js';

export function describeFinding(subject: () => StoreSubject): void {
  const found = async (filter: Omit<StoreFilter, 'limit'>) =>
    (await subject().store.find({ limit: 100, ...filter })).map(({ id }) => id);

  describe('a list of sagas', () => {
    test('says of each what there is to know at a glance', async () => {
      const { store } = subject();
      const given = { correlationId: 'order-1', version: 3, tags: { tenant: 'acme' } };
      const saga = await held(store, { ...given, input: '1' });
      const times = { createdAt: expect.any(Number), updatedAt: expect.any(Number) };
      const summary = { ...given, id: saga.id, name: saga.name, ...times };
      const found = await store.find({ name: saga.name, limit: 1 });
      expect(found).toEqual([{ ...summary, status: 'running', revision: 0, step: 'reserve' }]);
      expect(Math.abs((found[0]?.createdAt ?? 0) - saga.createdAt)).toBeLessThan(1);
      const failure = { kind: 'error' as const, error: { name: 'Declined', message: 'no money left' } };
      const state = stateOf('compensated', {}, { failure });
      await store.checkpoint([checkpointOf(saga, state, { step: 'done', release: {} })]);
      expect(await store.find({ name: saga.name, limit: 1 })).toEqual([
        {
          ...summary,
          revision: expect.any(Number),
          ...{ status: 'compensated', step: 'done', error: expect.stringContaining('no money left') },
          finishedAt: expect.any(Number),
        },
      ]);
    });

    test('says in which direction a saga stopped that is stuck', async () => {
      const { store } = subject();
      const name = uniqueName();
      for (const heldPhase of ['running', 'compensating'] as const) {
        const saga = await held(store, { name });
        await store.checkpoint([checkpointOf(saga, stateOf('stuck', {}, { heldPhase }), { release: {} })]);
      }
      await held(store, { name });
      const summaries = await store.find({ name, limit: 10 });
      expect(summaries.map(({ heldPhase }) => heldPhase)).toEqual([undefined, 'compensating', 'running']);
    });

    test('holds those of a name, in any of some states', async () => {
      const { store } = subject();
      const name = uniqueName();
      const running = await started(store, { name });
      const [stuck, done] = [await held(store, { name }), await held(store, { name })];
      await store.checkpoint([lastCheckpointOf(stuck, 'stuck'), lastCheckpointOf(done)]);
      expect(await found({ name })).toEqual([done.id, stuck.id, running.id]);
      expect(await found({ name, status: ['running', 'stuck'] })).toEqual([stuck.id, running.id]);
      expect(await found({ name, status: ['completed'] })).toEqual([done.id]);
      expect(await found({ name, status: ['aborted'] })).toEqual([]);
      expect(await found({ name, status: [] })).toEqual([]);
      expect(await found({ name: uniqueName() })).toEqual([]);
    });

    test('holds those that need attention, by their last checkpoint', async () => {
      const { store } = subject();
      const saga = await held(store);
      const { name } = saga;
      const reached = async (status: SagaState['status'], release?: object) => {
        await store.checkpoint([checkpointOf(saga, stateOf(status), { ...(release && { release }) })]);
        return Promise.all([['stuck'], ['paused', 'suspended'], ['stuck', 'paused']].map(among));
      };
      const among = async (status: string[]) =>
        (await found({ name, status: status as SagaState['status'][] })).length;
      expect(await reached('compensating')).toEqual([0, 0, 0]);
      expect(await reached('stuck', {})).toEqual([1, 0, 1]);
      expect(await reached('compensating', { dueAt: saga.createdAt })).toEqual([0, 0, 0]);
      expect(await reached('paused', {})).toEqual([0, 1, 1]);
      expect(await reached('suspended')).toEqual([0, 1, 0]);
      expect(await reached('running')).toEqual([0, 0, 0]);
      expect(await reached('compensated', {})).toEqual([0, 0, 0]);
    });

    test('holds those of a correlation id, whatever their name', async () => {
      const { store } = subject();
      const correlationId = `order-${uniqueName()}`;
      const a = await started(store, { correlationId });
      const b = await started(store, { correlationId });
      await started(store, { name: a.name, correlationId: `${correlationId}0` });
      expect(await found({ correlationId })).toEqual([b.id, a.id]);
      expect(await found({ correlationId, name: a.name })).toEqual([a.id]);
    });

    test('holds those that have their id for a correlation id, being given none', async () => {
      const { store } = subject();
      const plain = await started(store);
      const correlated = await started(store, { correlationId: 'order-1' });
      expect(await found({ correlationId: plain.id })).toEqual([plain.id]);
      expect(await found({ correlationId: correlated.id })).toEqual([]);
    });

    test('says what went wrong last, until it has come right', async () => {
      const { store } = subject();
      const saga = await held(store);
      const errors = [{ name: 'Error', message: 'down', attempt: 1, at: '', during: 'step' as const }];
      const shown: unknown[] = [];
      for (const status of ['waiting', 'completed'] as const) {
        const state = stateOf('running', { a: stepOf({ status, errors }) });
        expect(await store.checkpoint([checkpointOf(saga, state)])).toEqual(['saved']);
        shown.push((await store.find({ name: saga.name, limit: 1 }))[0]?.error);
      }
      expect(shown).toEqual([expect.stringContaining('down'), undefined]);
    });

    test('holds those that have all the tags asked for, and maybe more', async () => {
      const { store } = subject();
      const tenant = uniqueName();
      const both = await started(store, { tags: { tenant, region: 'eu' } });
      const one = await started(store, { tags: { tenant } });
      await started(store, { tags: { region: 'eu' } });
      await started(store, { name: one.name });
      expect(await found({ tags: { tenant } })).toEqual([one.id, both.id]);
      expect(await found({ tags: { region: 'eu', tenant } })).toEqual([both.id]);
      expect(await found({ tags: { tenant: 'eu' } })).toEqual([]);
      expect(await found({ name: one.name, tags: {} })).toHaveLength(2);
    });

    test('holds those created from a time on, and before another', async () => {
      const { store, advance } = subject();
      const name = uniqueName();
      const ids: string[] = [];
      for (let n = 0; n < 3; n += 1) {
        await advance(10_000);
        ids.unshift((await started(store, { name })).id);
      }
      const times = (await store.find({ name, limit: 3 })).map(({ createdAt }) => new Date(createdAt));
      const [newest, middle, oldest] = times;
      expect(await found({ name, createdAfter: middle })).toEqual(ids.slice(0, 2));
      expect(await found({ name, createdBefore: middle })).toEqual(ids.slice(2));
      expect(await found({ name, createdAfter: oldest, createdBefore: newest })).toEqual(ids.slice(1));
    });

    test('comes in pages, newest first, each saga on one page though others are started meanwhile', async () => {
      const { store } = subject();
      const name = uniqueName();
      const sagas = Array.from({ length: 25 }, () => newSaga({ name }));
      await store.start(sagas, WORKER);
      const pages: string[][] = [];
      let before: string | undefined;
      do {
        const page = await store.find({ name, before, limit: 10 });
        pages.push(page.map(({ id }) => id));
        before = page.at(-1)?.id;
        await started(store, { name });
      } while (before !== undefined && pages.length < 10);
      expect(pages.map((page) => page.length)).toEqual([10, 10, 5, 0]);
      expect(pages.flat()).toEqual(
        sagas
          .map(({ id }) => id)
          .sort()
          .reverse(),
      );
    });
  });
}
