import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault } from '../stage.js';
import { LEASE } from '../stage.js';

export const stop: Fault = {
  name: 'stop',
  what: 'SIGSTOP to a worker for one and a half to three leases, then SIGCONT.',
  async inject(stage) {
    const worker = stage.oneWorker;
    worker.signal('SIGSTOP');
    await sleep(stage.chance.between(1.5, 3) * LEASE);
    worker.signal('SIGCONT');
  },
};
