import { setTimeout as sleep } from 'node:timers/promises';
import { daemonKill } from './rig/src/faults/daemon-kill.js';
import { runFault } from './rig/src/run-fault.js';
import type { Fault } from './rig/src/stage.js';

const KILLS = 3;

const severalKills: Fault = {
  ...daemonKill,
  async inject({ daemon, chance }) {
    for (let kill = 0; kill < KILLS; kill += 1) {
      await sleep(chance.between(200, 1_500));
      await daemon!.kill();
    }
  },
};

test(`a daemon is killed ${KILLS} times while sagas are started over REST: none is lost, and nothing is done twice`, async () => {
  const said: string[] = [];
  const say = (line: string) => said.push(line);
  const figures = await runFault(severalKills, { minutes: 0.01, rate: 20, seed: 2, say });
  expect({ ...figures, said }).toMatchObject({ lost: 0, doubled: 0, wrong: 0, stuck: 0, said });
  expect(figures!.sagas).toBeGreaterThan(50);
  expect(figures!.recoveryMax).toBeLessThan(Infinity);
});
