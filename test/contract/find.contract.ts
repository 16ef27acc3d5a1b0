import type { SagaState } from '../../libs/saga/src/machine/saga-state.js';
import type { StoreFilter } from '../../libs/saga/src/engine/ports/saga-store.js';
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

    test('holds those that ended from a time on, and before another', async () => {
      const { store, advance } = subject();
      const name = uniqueName();
      const ids: string[] = [];
      for (let n = 0; n < 3; n += 1) {
        await advance(10_000);
        const saga = await held(store, { name });
        await store.checkpoint([lastCheckpointOf(saga)]);
        ids.unshift(saga.id);
      }
      await started(store, { name });
      const ends = (await store.find({ name, limit: 4 })).map(({ finishedAt }) => new Date(finishedAt ?? 0));
      const [, newest, middle, oldest] = ends;
      expect(await found({ name, finishedAfter: middle })).toEqual(ids.slice(0, 2));
      expect(await found({ name, finishedBefore: middle })).toEqual(ids.slice(2));
      expect(await found({ name, finishedAfter: oldest, finishedBefore: newest })).toEqual(ids.slice(1));
    });

    test('holds those that stand at a step, alone or beside others', async () => {
      const { store } = subject();
      const name = uniqueName();
      const [alone, beside] = [await held(store, { name }), await held(store, { name })];
      const at = (step: string) => ({ step, ...{ release: {} } });
      await store.checkpoint([
        checkpointOf(alone, stateOf('running', { charge: stepOf() }), at('ship')),
        checkpointOf(beside, stateOf('running', { charge: stepOf() }), at('pack, ship')),
      ]);
      expect(await found({ name, step: 'ship' })).toEqual([beside.id, alone.id]);
      expect(await found({ name, step: 'pack' })).toEqual([beside.id]);
      expect(await found({ name, step: 'pack, ship' })).toEqual([]);
      expect(await found({ name, step: 'charge' })).toEqual([]);
    });

    test('holds those that wait for a signal, until it has come', async () => {
      const { store } = subject();
      const saga = await held(store);
      const { name } = saga;
      const waiting = (wait: object) =>
        stateOf('running', { pay: stepOf({ status: 'waiting', wait: { signal: 'paid', ...wait } }) });
      await store.checkpoint([checkpointOf(saga, waiting({}))]);
      expect(await found({ name, waitingFor: 'paid' })).toEqual([saga.id]);
      expect(await found({ name, waitingFor: 'pay' })).toEqual([]);
      await store.checkpoint([checkpointOf(saga, waiting({ takenSignal: 1 }))]);
      expect(await found({ name, waitingFor: 'paid' })).toEqual([]);
    });

    test('holds those past their sla, also once they have ended, or only the others', async () => {
      const { store, advance } = subject();
      const name = uniqueName();
      const inTime = await held(store, { name, sla: 5_000 });
      await store.checkpoint([lastCheckpointOf(inTime)]);
      const [late, open] = [
        await held(store, { name, sla: 5_000 }),
        await started(store, { name, sla: 5_000 }),
      ];
      const [later, without] = [
        await started(store, { name, sla: 3_600_000 }),
        await started(store, { name }),
      ];
      await advance(10_000);
      await store.checkpoint([lastCheckpointOf(late)]);
      expect(await found({ name, overdue: true })).toEqual([open.id, late.id]);
      expect(await found({ name, overdue: false })).toEqual([without.id, later.id, inTime.id]);
    });

    test('holds those with the code of an error, of their failure or of an attempt', async () => {
      const { store } = subject();
      const name = uniqueName();
      const [attempt, failure, other] = [
        await held(store, { name }),
        await held(store, { name }),
        await held(store, { name }),
      ];
      const error = { name: 'Error', message: 'declined', code: 'CARD_DECLINED' };
      const failed = (code: string) =>
        stepOf({ status: 'waiting', errors: [{ ...error, code, attempt: 1, at: '', during: 'step' }] });
      await store.checkpoint([
        checkpointOf(attempt, stateOf('running', { pay: failed('CARD_DECLINED') })),
        checkpointOf(failure, stateOf('compensating', {}, { failure: { kind: 'error', error } })),
        checkpointOf(other, stateOf('running', { pay: failed('CARD') })),
      ]);
      expect(await found({ name, errorCode: 'CARD_DECLINED' })).toEqual([failure.id, attempt.id]);
      expect(await found({ name, errorCode: 'CARD' })).toEqual([other.id]);
      expect(await found({ name, errorCode: 'DECLINED' })).toEqual([]);
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
