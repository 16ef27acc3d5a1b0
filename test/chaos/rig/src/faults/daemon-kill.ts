import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault } from '../stage.js';

/** The longest time (ms) from one kill to the next. */
const LONGEST_LIFE = 2_000;

export const daemonKill: Fault = {
  name: 'daemon-kill',
  what: 'SIGKILL to a daemon (`saga serve`), one to three times, each at a random moment; it is started again. Its sagas are a file with HTTP steps, and are started over REST.',
  daemon: true,
  async inject({ daemon, chance }) {
    const kills = Math.ceil(chance.between(0, 3));
    for (let kill = 0; kill < kills; kill += 1) {
      await sleep(chance.between(0, LONGEST_LIFE));
      await daemon!.kill();
    }
  },
};
