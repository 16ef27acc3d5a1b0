import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../eventually.js';
import type { Fault } from '../stage.js';

export const diskFull: Fault = {
  name: 'disk-full',
  what: 'The disk of PostgreSQL (a small tmpfs) is full for three to six seconds; if the server went down for it, it is started again.',
  diskMegabytes: 400,
  settings: { max_wal_size: '64MB', min_wal_size: '32MB', checkpoint_timeout: '30s' },
  async inject({ disk, server, chance }) {
    await disk!.fill();
    const until = performance.now() + chance.between(3_000, 6_000);
    while (performance.now() < until) {
      // What it frees by itself is taken as well.
      await disk!.fill();
      await sleep(200);
    }
    await disk!.free();
    if (!server.isRunning) await server.resume();
    await eventually(async () => server.isRunning);
  },
};
