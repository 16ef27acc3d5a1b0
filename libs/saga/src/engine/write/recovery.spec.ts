import { setImmediate as turn } from 'node:timers/promises';
import { SAGA } from '../../../../../test/fixtures/run-of.js';
import { StoreClock } from '../../shared/store-clock.js';
import type { RecoveryPorts } from './put-back-sagas.js';
import { Recovery } from './recovery.js';

const WINDOW = 60_000;

test('an outage does not use up the window', async () => {
  let now = 0;
  let isDown = true;
  const revisions = async () => {
    if (isDown) throw new Error('down');
    return [];
  };
  const clock = { monotonic: () => now, wall: () => now };
  const store = { revisions, lastFailoverAt: -Infinity };
  const ports = { store, clock, storeClock: new StoreClock(clock) };
  const recovery = new Recovery({ window: WINDOW, bytes: 1e9 }, ports as unknown as RecoveryPorts);
  const { recent } = recovery;
  const look = async () => {
    recovery.look();
    await turn();
  };
  recent.claimed(SAGA);
  now = 10 * WINDOW;
  await look();
  expect(recent.size).toBe(1);
  isDown = false;
  await look();
  expect(recent.size).toBe(0);
});
