import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault } from '../stage.js';
import { LEASE } from '../stage.js';

export const block: Fault = {
  name: 'block',
  what: "A worker's event loop stands still for one and a half to three leases.",
  async inject(stage) {
    const time = stage.chance.between(1.5, 3) * LEASE;
    stage.oneWorker.send({ type: 'block', for: time });
    await sleep(time);
  },
};
