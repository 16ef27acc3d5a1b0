import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault } from '../stage.js';

const HOUR = 3_600_000;

export const wrongClock: Fault = {
  name: 'wrong-clock',
  what: "A worker's wall clock jumps, up to twelve hours forward or back, and goes on from there for two to five seconds, then jumps back.",
  async inject(stage) {
    const worker = stage.oneWorker;
    worker.send({ type: 'shift-clock', by: Math.round(stage.chance.between(-12, 12) * HOUR) });
    await sleep(stage.chance.between(2_000, 5_000));
    worker.send({ type: 'shift-clock', by: 0 });
  },
};
