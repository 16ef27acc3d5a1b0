import { brokenPromises, ForgettingWorld } from './forgetting-world.js';

const SEEDS = Number(process.env.FORGETTING_SEEDS ?? 15);
/** Seeds that broke a promise once, with what they found. */
const FOUND: readonly (readonly [seed: number, what: string])[] = [
  [52, 'a process noticed a failover after another had claimed what it had to put back'],
];
const RECOVERY = { window: 60_000, bytes: 64 * 2 ** 20 };

test('what was acknowledged is not forgotten, nor done twice, while processes live and a database forgets', async () => {
  let forgotten = 0;
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const world = new ForgettingWorld(seed, RECOVERY);
    await world.run();
    expect({ seed, broken: await brokenPromises(world) }).toEqual({ seed, broken: [] });
    forgotten += world.database.forgotten;
  }
  // Otherwise nothing had to be put back.
  expect(forgotten).toBeGreaterThan(SEEDS * 3);
});

test.each(FOUND)('seed %i is played as well: %s', async (seed) => {
  const world = new ForgettingWorld(seed, RECOVERY);
  await world.run();
  expect(await brokenPromises(world)).toEqual([]);
});

test('without a recovery window, acknowledged starts are forgotten', async () => {
  const broken: string[] = [];
  for (let seed = 1; seed <= 5; seed += 1) {
    const world = new ForgettingWorld(seed, undefined);
    await world.run();
    broken.push(...(await brokenPromises(world)));
  }
  expect(broken).toContainEqual(expect.stringMatching(/is forgotten$/));
});
