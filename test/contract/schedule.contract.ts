import type { ScheduleEdited, StoredSchedule } from '../../libs/saga/src/engine/ports/stored-schedule.js';
import { newId } from '../../libs/saga/src/shared/new-id.js';
import {
  claimedIds,
  loaded,
  newSaga,
  started,
  stateOf,
  storeNow,
  type StoreSubject,
  TOLERANCE_MS,
  uniqueName,
} from './store-subject.contract.js';

export function describeSchedules(subject: () => StoreSubject): void {
  const T = Date.UTC(2026, 0, 1);
  const scheduleOf = (given: Partial<StoredSchedule> = {}): StoredSchedule => ({
    ...{ saga: uniqueName(), cron: '0 2 * * *', timezone: 'UTC', overlap: 'skip', catchUp: 'last' },
    ...{ decidedUntil: T, nextAt: T + 7_200_000 },
    ...given,
  });
  const store = () => subject().store;
  const put = (schedule: StoredSchedule) => store().editSchedule(schedule.saga, () => ({ schedule }));
  const stored = async (saga: string) =>
    (await store().schedules()).schedules.find((one) => one.saga === saga);

  describe('a schedule', () => {
    test('is not there before it is stored, and then it is as it was stored', async () => {
      const schedule = scheduleOf();
      const seen: unknown[] = [];
      const edited = await store().editSchedule(schedule.saga, (before, now) => {
        seen.push(before, now);
        return { schedule };
      });
      expect(edited?.schedule).toEqual(schedule);
      expect(await stored(schedule.saga)).toEqual(schedule);
      expect(seen[0]).toBeUndefined();
      expect(Math.abs((await storeNow(store())) - (seen[1] as number))).toBeLessThan(TOLERANCE_MS);
    });

    test('keeps all that it is given, and loses what it is given no more', async () => {
      const schedule = scheduleOf();
      await put(schedule);
      const full: StoredSchedule = {
        ...schedule,
        ...{ cron: '*/5 * * * * *', timezone: 'Europe/Berlin', overlap: 'queue', catchUp: 'all' },
        ...{ decidedUntil: T + 5_000, nextAt: T + 10_000, skippedAt: T + 5_000 },
        paused: { at: T + 1, by: 'ann "a"', reason: "it's\nlate" },
        last: { id: newId(), at: T + 2, triggered: true },
      };
      expect((await put(full))?.schedule).toEqual(full);
      expect(await stored(schedule.saga)).toEqual(full);
      await put(schedule);
      expect(await stored(schedule.saga)).toEqual(schedule);
    });

    test('is listed with the others in the order of names, with the time', async () => {
      const names = ['b', 'B', 'a'].map((letter) => `${letter}-${uniqueName()}`);
      for (const saga of names) await put(scheduleOf({ saga }));
      const { schedules, now } = await store().schedules();
      expect(schedules.map(({ saga }) => saga).filter((saga) => names.includes(saga))).toEqual(
        [...names].sort(),
      );
      expect(Math.abs((await storeNow(store())) - now)).toBeLessThan(TOLERANCE_MS);
    });

    test('is left as it is by a change that throws, or is none', async () => {
      const schedule = scheduleOf();
      await put(schedule);
      expect(await store().editSchedule(schedule.saga, () => undefined)).toBeUndefined();
      const refuse = () => {
        throw new Error('It does not fit');
      };
      await expect(store().editSchedule(schedule.saga, refuse)).rejects.toThrow('It does not fit');
      expect(await stored(schedule.saga)).toEqual(schedule);
    });

    test('starts a saga with its change, which any worker can claim at once', async () => {
      const schedule = scheduleOf();
      await put(schedule);
      const saga = newSaga({ name: schedule.saga, correlationId: 'tick-1', input: '{"n":1}' });
      const last = { id: saga.id, at: T, triggered: false };
      const edited = await store().editSchedule(schedule.saga, (before) => ({
        schedule: { ...before!, last },
        start: saga,
      }));
      expect(edited).toMatchObject({ start: { created: true, leased: false } });
      expect(edited?.schedule.last).toEqual({ ...last, status: 'running' });
      expect(await loaded(store(), saga.id)).toMatchObject({ correlationId: 'tick-1', input: '{"n":1}' });
      expect(await claimedIds(store(), schedule.saga)).toEqual([saga.id]);
    });

    test('knows its last saga until that has ended', async () => {
      const schedule = scheduleOf();
      await put(schedule);
      const { id } = await started(store(), { name: schedule.saga });
      await put({ ...schedule, last: { id, at: T, triggered: false } });
      const seen: unknown[] = [];
      const look = async () => {
        let status: unknown;
        await store().editSchedule(schedule.saga, (before) => {
          status = before?.last?.status;
          return undefined;
        });
        seen.push(status);
      };
      await look();
      await store().edit({ id }, () => ({
        state: stateOf('stuck', {}, { heldPhase: 'running' }),
        due: false,
        step: '',
      }));
      await look();
      expect((await stored(schedule.saga))?.last).toEqual({ id, at: T, triggered: false, status: 'stuck' });
      await store().edit({ id }, () => ({ state: stateOf('completed'), due: false, step: '' }));
      await look();
      expect(seen).toEqual(['running', 'stuck', undefined]);
      expect((await stored(schedule.saga))?.last).toEqual({ id, at: T, triggered: false });
    });

    test('finds the saga of a tick that is there already, and keeps its id', async () => {
      const schedule = scheduleOf();
      await put(schedule);
      const { id } = await started(store(), { name: schedule.saga, correlationId: 'tick-1' });
      const again = newSaga({ name: schedule.saga, correlationId: 'tick-1', fresh: true });
      const edited = await store().editSchedule(schedule.saga, (before) => ({
        schedule: { ...before!, last: { id: again.id, at: T, triggered: false } },
        start: again,
      }));
      expect(edited?.start).toMatchObject({ created: false, existing: { id } });
      expect((await stored(schedule.saga))?.last).toMatchObject({ id, status: 'running' });
    });

    test('is changed by one after the other, however many change it at once', async () => {
      const saga = uniqueName();
      const next = (before: StoredSchedule | undefined) => ({
        schedule: scheduleOf({ saga, decidedUntil: (before?.decidedUntil ?? T) + 1_000 }),
      });
      const edits = await Promise.all(Array.from({ length: 10 }, () => store().editSchedule(saga, next)));
      const decided = edits.map((edited) => (edited as ScheduleEdited).schedule.decidedUntil);
      expect(decided.sort((a, b) => a - b)).toEqual(
        Array.from({ length: 10 }, (_, n) => T + (n + 1) * 1_000),
      );
      expect((await stored(saga))?.decidedUntil).toBe(T + 10_000);
    });

    test('lets one of many start the saga of a tick', async () => {
      const schedule = scheduleOf();
      await put(schedule);
      const edits = await Promise.all(
        Array.from({ length: 10 }, () => {
          const saga = newSaga({ name: schedule.saga, fresh: true });
          return store().editSchedule(schedule.saga, (before) =>
            before!.decidedUntil > T
              ? undefined
              : {
                  schedule: {
                    ...before!,
                    decidedUntil: T + 1,
                    last: { id: saga.id, at: T, triggered: false },
                  },
                  start: saga,
                },
          );
        }),
      );
      expect(edits.filter((edited) => edited !== undefined)).toHaveLength(1);
      expect(await claimedIds(store(), schedule.saga)).toHaveLength(1);
    });
  });
}
