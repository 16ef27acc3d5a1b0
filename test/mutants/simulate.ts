import { PROMISES } from '../simulation/promises.js';
import { scenarioOf } from '../simulation/scenario.js';
import { simulate } from '../simulation/simulate.js';

/** Plays the scenarios of so many seeds, up to the first broken promise: that ends it with code 1. */
const seeds = Number(process.argv[2]);
for (let seed = 1; seed <= seeds; seed += 1) {
  const [broken] = (await simulate(scenarioOf(seed))).violations;
  if (!broken) continue;
  console.log(`${broken.promise} (${PROMISES[broken.promise]}), seed ${seed}`);
  process.exit(1);
}
