import { setTimeout as sleep } from 'node:timers/promises';
import type { DemoEnvironment, Fault } from '../stage.js';

export const failoverSync: Fault = {
  name: 'failover-sync',
  what: 'The primary is killed. Its address refuses connections for up to two seconds, then leads to the synchronous standby, which is read-only for up to two seconds and is promoted.',
  standby: 'sync',
  repair: ({ pair }) => pair.restore(),
  inject: killPrimary,
};

export const failoverAsync: Fault = {
  name: 'failover-async',
  what: 'The same with an asynchronous standby, which has not received the last half a second to one and a half seconds of commits. The processes live on.',
  standby: 'async',
  repair: ({ pair }) => pair.restore(),
  async inject(stage) {
    const { chance, pair } = stage;
    pair.fallBehind();
    await sleep(chance.between(500, 1_500));
    await killPrimary(stage);
  },
};

export const failoverFlapping: Fault = {
  name: 'failover-flapping',
  what: 'The same as `failover-sync`, but the address changes three times between no server, the old primary and the standby before the promotion.',
  standby: 'sync',
  repair: ({ pair }) => pair.restore(),
  async inject(stage) {
    const { chance, proxy, pair } = stage;
    for (let times = 0; times < 3; times += 1) {
      proxy.refuse();
      await sleep(chance.between(0, 500));
      proxy.pointTo(pair.standby.port);
      await sleep(chance.between(0, 1_000));
      proxy.cut();
      proxy.pointTo(pair.primary.port);
      await sleep(chance.between(0, 1_000));
    }
    proxy.refuse();
    await pair.primary.halt('immediate');
    proxy.pointTo(pair.standby.port);
    await promote(stage);
  },
};

export const splitBrain: Fault = {
  name: 'split-brain',
  what: 'The standby is promoted while the old primary goes on: for two to four seconds, half of the connections stay with the old primary, and the address leads to either server in turn.',
  standby: 'sync',
  repair: ({ pair }) => pair.restore(),
  async inject(stage) {
    const { chance, proxy, pair } = stage;
    const old = pair.primary;
    await promote(stage);
    proxy.cut(0.5, chance.next);
    const until = performance.now() + chance.between(2_000, 4_000);
    while (performance.now() < until) {
      proxy.pointTo(chance.next() < 0.5 ? old.port : pair.primary.port);
      proxy.cut(0.2, chance.next);
      await sleep(chance.between(50, 300));
    }
    proxy.pointTo(pair.primary.port);
    proxy.cut();
  },
};

/** For a while, no server answers. Then the standby does, and is promoted. */
async function killPrimary(stage: DemoEnvironment): Promise<void> {
  const { chance, proxy, pair } = stage;
  proxy.refuse();
  await pair.primary.halt('immediate');
  await sleep(chance.between(0, 2_000));
  proxy.pointTo(pair.standby.port);
  await sleep(chance.between(0, 2_000));
  await promote(stage);
}

/** The standby becomes the primary, and the address is its own. */
async function promote(stage: DemoEnvironment): Promise<void> {
  await stage.pair.promote();
  await stage.followPrimary();
  stage.proxy.pointTo(stage.pair.primary.port);
}
