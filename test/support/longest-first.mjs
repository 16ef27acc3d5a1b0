import { createRequire } from 'node:module';

/** Without jest's own sequencer among the dependencies: that of the jest that is installed. */
const { default: Sequencer } = createRequire(createRequire(import.meta.url).resolve('jest-cli'))(
  '@jest/test-sequencer',
);

/**
 * The specs that take longest. They start first, so that no worker is idle at the end while one of them runs. Jest knows
 * how long a spec takes only from an earlier run on the same machine, and otherwise goes by the size of the file.
 */
export const LONGEST = [
  'test/packaging/packed-consumer.spec.ts',
  'test/packaging/without-typeorm.slow.spec.ts',
  'test/chaos/kill.spec.ts',
  'test/simulation/simulation.spec.ts',
  'test/simulation/shards.spec.ts',
  'libs/saga/src/store/postgres/postgres-saga-store.spec.ts',
  'test/chaos/graph-kill.spec.ts',
  'test/cli/serving.system.spec.ts',
  'docs/api-reference.spec.ts',
  'test/chaos/waiting.spec.ts',
  'test/testing/other-runners.system.spec.ts',
  'apps/credit-demo/src/demo/scenarios.spec.ts',
  'test/options/unknown-keys.slow.spec.ts',
  'test/chaos/family.slow.spec.ts',
  'test/chaos/remote-steps.slow.spec.ts',
  'test/chaos/rig.spec.ts',
  'test/admin/dashboard.system.spec.ts',
  'test/admin/accessibility.system.spec.ts',
  'test/sagas/outages/unknown-answers.spec.ts',
  'test/sagas/plans/plans-at-scale.spec.ts',
  'test/chaos/failover.spec.ts',
  'test/first-run/private-clone.spec.ts',
  'test/sagas/forward/isolation.system.spec.ts',
  'test/cli/starting.spec.ts',
  'test/chaos/credit.spec.ts',
  'test/chaos/postgres-restart.spec.ts',
  'test/declared/flows.spec.ts',
  'test/chaos/daemon.spec.ts',
  'test/chaos/at-once.spec.ts',
  'test/simulation/schedules.spec.ts',
  'libs/saga/src/machine/graph.properties.spec.ts',
  'libs/saga/src/machine/graph.properties.slow.spec.ts',
  'test/sagas/outages/unknown-answers.slow.spec.ts',
  'test/sagas/outages/answered-contract.slow.spec.ts',
  'test/world/world.slow.spec.ts',
  'test/messaging/lost-connections.slow.spec.ts',
  'test/cli/init.slow.spec.ts',
  'test/databases/kill.slow.spec.ts',
  'libs/saga/src/store/postgres/partitioned-saga-store.slow.spec.ts',
  'test/first-run/start-up-errors.slow.spec.ts',
  'test/cli/graph-diff.slow.spec.ts',
  'test/site/site.slow.spec.ts',
  'test/first-run/own-postgres.slow.spec.ts',
  'test/cli/init-layers.slow.spec.ts',
];

/** Jest's `testSequencer`: `LONGEST` first, then jest's own order. */
export default class LongestFirst extends Sequencer {
  sort(tests) {
    const rankOf = ({ path }) => LONGEST.findIndex((spec) => path.endsWith(`/${spec}`));
    const isLong = (test) => rankOf(test) >= 0;
    const long = tests.filter(isLong).sort((a, b) => rankOf(a) - rankOf(b));
    return [...long, ...super.sort(tests.filter((test) => !isLong(test)))];
  }
}
