import { ALL_TICKS, ScheduleWorld } from './schedule-world.js';

/** More of them: SCHEDULE_SEEDS=200. */
const SEEDS = Number(process.env.SCHEDULE_SEEDS ?? 10);

const idsOf = (sagas: readonly { correlationId: string }[]) =>
  sagas.map(({ correlationId }) => correlationId);

async function simulated(seed: number, rules: ConstructorParameters<typeof ScheduleWorld>[1]) {
  const world = new ScheduleWorld(seed, rules);
  const sagas = await world.run();
  expect({ seed, errors: world.errors }).toEqual({ seed, errors: 0 });
  return sagas;
}

describe('whatever fails, a schedule', () => {
  const seeds = Array.from({ length: SEEDS }, (_, n) => n + 1);

  test('starts one saga for each tick since it was stored, in order, if all are caught up', async () => {
    let late = 0;
    for (const seed of seeds) {
      const sagas = await simulated(seed, { overlap: 'allow', catchUp: 'all' });
      const ids = idsOf(sagas);
      const first = ALL_TICKS.indexOf(ids[0]!);
      expect({ seed, ids }).toEqual({ seed, ids: ALL_TICKS.slice(first) });
      late += sagas.filter(({ startedAt }) => startedAt % 600_000 > 60_000).length;
    }
    // Otherwise nothing was caught up.
    expect(late).toBeGreaterThan(SEEDS);
  });

  test('starts at most one saga for a tick, and the last of those that were missed', async () => {
    for (const seed of seeds) {
      const ids = idsOf(await simulated(seed, { overlap: 'allow', catchUp: 'last' }));
      expect({ seed, ids }).toEqual({ seed, ids: [...new Set(ids)].sort() });
      // All is well for an hour at the end.
      expect(ids.slice(-5)).toEqual(ALL_TICKS.slice(-5));
    }
  });

  test('starts no saga for a tick that was missed for more than a minute, if none is caught up', async () => {
    for (const seed of seeds)
      for (const { startedAt, correlationId } of await simulated(seed, {
        overlap: 'allow',
        catchUp: 'none',
      })) {
        const tick = Date.parse(correlationId.slice('schedule:'.length)) % 86_400_000;
        // A statement may arrive late.
        expect(startedAt - tick).toBeLessThan(65_000);
      }
  });

  test('never has two sagas that have not ended, if they are to be skipped', async () => {
    for (const seed of seeds) {
      const sagas = await simulated(seed, { overlap: 'skip', catchUp: 'last' });
      const overlapping = sagas.filter(({ startedAt }, n) => n > 0 && startedAt < sagas[n - 1]!.endedAt);
      expect({ seed, overlapping }).toEqual({ seed, overlapping: [] });
      expect(sagas.length).toBeGreaterThan(2);
    }
  });
});
