import type { Fault } from '../stage.js';
import { LEASE } from '../stage.js';
import { setTimeout as sleep } from 'node:timers/promises';

export const exhaust: Fault = {
  name: 'pool-exhausted',
  what: "The application takes all connections of two workers' pools for one and a half to three leases.",
  async inject(stage) {
    const time = stage.chance.between(1.5, 3) * LEASE;
    const [a, b] = [stage.oneWorker, stage.oneWorker];
    const taken = [...new Set([a, b])].map((worker) => {
      const exhausted = worker.reports('exhausted');
      worker.send({ type: 'exhaust', for: time });
      return exhausted;
    });
    await Promise.all(taken);
    await sleep(time);
  },
};
