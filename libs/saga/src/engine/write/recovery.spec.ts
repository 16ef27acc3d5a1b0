import { setImmediate as turn } from 'node:timers/promises';
import { SAGA } from '../../../../../test/fixtures/run-of.js';
import { StoreClock } from '../../shared/store-clock.js';
import type { RecoveryPorts } from './put-back-sagas.js';
import { Recovery } from './recovery.js';

const WINDOW = 60_000;

/** A process that looks at given times (ms), on a database that can be down. */
function world() {
  let now = 0;
  const waiting: (() => void)[] = [];
  const store = {
    lastFailoverAt: -Infinity,
    revisions: async () => {
      if (world.isDown) throw new Error('down');
      world.asked += 1;
      return [];
    },
  };
  const after = (_: number, run: () => void) => void waiting.push(run);
  const clock = { monotonic: () => now, wall: () => now, after };
  const storeClock = new StoreClock(clock);
  const ports = { store, clock, storeClock } as unknown as RecoveryPorts;
  const recovery = new Recovery({ window: WINDOW, bytes: 1e9 }, ports);
  const world = {
    isDown: false,
    asked: 0,
    answer(at: number) {
      now = at;
      storeClock.observe(at, at);
    },
    async look(at: number, meanwhile?: () => void) {
      now = at;
      recovery.look();
      meanwhile?.();
      for (const run of waiting.splice(0)) run();
      await turn();
    },
  };
  return { recovery, clock: world, saga: SAGA };
}

test('an outage does not use up the window', async () => {
  const { recovery, clock, saga } = world();
  const { recent } = recovery;
  recent.claimed(saga);
  clock.isDown = true;
  await clock.look(10 * WINDOW);
  expect(recent.size).toBe(1);
  clock.isDown = false;
  await clock.look(10 * WINDOW);
  expect(recent.size).toBe(0);
});

test('a process that the database has not answered lately asks it something', async () => {
  const { recovery, clock, saga } = world();
  recovery.recent.claimed(saga);
  clock.answer(10_000);
  await clock.look(11_000);
  expect(clock.asked).toBe(0);
  await clock.look(12_000);
  expect(clock.asked).toBe(1);
  await clock.look(13_000);
  expect(clock.asked).toBe(1);
});

test('it asks nothing if what else it sends at this time is answered', async () => {
  const { recovery, clock, saga } = world();
  recovery.recent.claimed(saga);
  clock.answer(10_000);
  await clock.look(12_000, () => clock.answer(12_010));
  expect(clock.asked).toBe(0);
});
