import type { NewSaga } from '../../libs/saga/src/engine/ports/stored-saga.js';
import {
  claimed,
  lastCheckpointOf,
  loaded,
  newSaga,
  started,
  type StoreSubject,
  uniqueName,
  WORKER,
} from './store-subject.contract.js';

export function describeLockMode(subject: () => StoreSubject): void {
  const rejecting = (name: string, given: Partial<NewSaga> = {}): NewSaga =>
    newSaga({ name, lockKey: 'k', lockRejects: true, ...given });
  const start = (...sagas: NewSaga[]) => subject().store.start(sagas, WORKER);
  const refusedFor = (lockHolder: string) => ({ created: false, lockHolder });

  describe('a saga that does not wait for its semantic lock', () => {
    test.each(['queue', 'reject'])(
      'is not stored while a saga of lockMode %s has the lock, active or not',
      async (mode) => {
        const { store } = subject();
        const name = uniqueName();
        const first = await started(store, {
          name,
          lockKey: 'k',
          ...(mode === 'reject' && { lockRejects: true }),
        });
        const refused = rejecting(name);
        expect(await start(refused)).toEqual([refusedFor(first.id)]);
        const { sagas } = await claimed(store, name);
        expect(await start(rejecting(name))).toEqual([refusedFor(first.id)]);
        expect(await store.missing([refused.id])).toEqual([refused.id]);
        await store.checkpoint([{ ...lastCheckpointOf(sagas[0]!), lock: { name, key: 'k' } }]);
        expect(await start(rejecting(name))).toMatchObject([{ created: true, leased: false }]);
      },
    );

    test('is stored beside those of other keys and names', async () => {
      const name = uniqueName();
      await start(rejecting(name));
      expect(await start(rejecting(name, { lockKey: 'other' }), rejecting(uniqueName()))).toMatchObject([
        { created: true },
        { created: true },
      ]);
    });

    test('is found by a repeated start, also while the lock is held', async () => {
      const name = uniqueName();
      const first = rejecting(name, { correlationId: 'c' });
      await start(first);
      const again = rejecting(name, { correlationId: 'c' });
      expect(await start(again)).toMatchObject([{ created: false, existing: { id: first.id } }]);
      expect(await start(first)).toMatchObject([{ created: false, existing: { id: first.id } }]);
      expect(await start({ ...first, fresh: true })).toMatchObject([{ created: true, leased: false }]);
    });

    test('is the first of its key in a batch, and the others are not stored', async () => {
      const name = uniqueName();
      const sagas = Array.from({ length: 3 }, (_, n) => rejecting(name, { input: `${n}` }));
      const [plain, other] = [newSaga({ name }), rejecting(name, { lockKey: 'other' })];
      expect(await start(plain, sagas[0]!, sagas[1]!, other, sagas[2]!)).toMatchObject([
        { created: true },
        { created: true },
        refusedFor(sagas[0]!.id),
        { created: true },
        refusedFor(sagas[0]!.id),
      ]);
      expect(await loaded(subject().store, other.id)).toMatchObject({ name });
    });

    test('is one of many that are started at once', async () => {
      const name = uniqueName();
      const results = (
        await Promise.all(Array.from({ length: 20 }, () => start(rejecting(name), rejecting(name))))
      ).flat();
      expect(results.filter(({ created }) => created)).toHaveLength(1);
      const [holder] = (await claimed(subject().store, name)).sagas;
      expect(results.filter(({ created }) => !created)).toEqual(
        Array.from({ length: 39 }, () => refusedFor(holder!.id)),
      );
    });

    test('is stored while the only other one is to begin later', async () => {
      const name = uniqueName();
      await start(rejecting(name, { delay: 60_000 }));
      expect(await start(rejecting(name))).toMatchObject([{ created: true }]);
    });

    test('is not stored inside a transaction of the caller either', async () => {
      const { store } = subject();
      const name = uniqueName();
      const first = rejecting(name);
      await start(first);
      await store.editSchedule(name, (_, now) => ({ schedule: scheduleAt(name, now) }));
      const edited = await store.editSchedule(name, (stored, now) => ({
        schedule: {
          ...stored!,
          decidedUntil: now,
          last: { id: rejecting(name).id, at: now, triggered: false },
        },
        start: rejecting(name),
      }));
      expect(edited?.start).toEqual(refusedFor(first.id));
      expect(edited?.schedule.last).toBeUndefined();
      expect(edited?.schedule.skippedAt).toBeCloseTo(edited!.schedule.decidedUntil, 0);
    });
  });
}

function scheduleAt(saga: string, now: number) {
  return {
    saga,
    cron: '0 2 * * *',
    timezone: 'UTC',
    overlap: 'allow',
    catchUp: 'none',
    decidedUntil: now,
    nextAt: now + 60_000,
  } as const;
}
