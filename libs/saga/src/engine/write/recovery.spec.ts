import { setImmediate as turn } from 'node:timers/promises';
import { SAGA } from '../../../../../test/fixtures/run-of.js';
import { Recovery, type RecoveryPorts } from './recovery.js';

const WINDOW = 60_000;

test.each([true, false])(
  'an outage does not use up the window, whether or not the process asks the database by itself (%p)',
  async (asks) => {
    let now = 0;
    let isDown = true;
    const revisions = async () => {
      if (isDown) throw new Error('down');
      return [];
    };
    const ports = { store: { revisions, lastFailoverAt: -Infinity }, clock: { monotonic: () => now } };
    const recovery = new Recovery({ window: WINDOW, bytes: 1e9 }, ports as unknown as RecoveryPorts);
    const { recent } = recovery;
    const look = async () => {
      recovery.look(asks);
      await turn();
    };
    recent.claimed(SAGA);
    now = 10 * WINDOW;
    await look();
    expect(recent.size).toBe(1);
    isDown = false;
    await look();
    expect(recent.size).toBe(0);
  },
);
