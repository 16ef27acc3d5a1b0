import { SagaShardUnavailableError } from '../../libs/saga/src/index.js';
import type { StartedSaga } from '../../libs/saga/src/shards/place-saga.js';
import type { ShardedProcess } from './sharded-process.js';
import { ShardedWorld } from './sharded-world.js';

const SEEDS = Number(process.env.SHARD_SEEDS ?? 8);
const HASTY_SEEDS = Number(process.env.SHARD_SEEDS ?? 12);
const CHANGING_SEEDS = Number(process.env.SHARD_SEEDS ?? 6);

/** What no client may do: the start may have taken effect, or another client has started the same saga. */
async function startSomewhere(process: ShardedProcess, saga: StartedSaga): Promise<string> {
  try {
    return await process.start(saga);
  } catch (error) {
    if (!(error instanceof SagaShardUnavailableError)) throw error;
    const { answers } = await process.engine.all(async (shard) => shard.stats().then(() => shard));
    const result = await answers[0]!.submit(saga);
    return result.created ? saga.id : result.existing!.id;
  }
}

test('a saga lives on one shard, and a shard that is down takes nothing from the others', async () => {
  let refusals = 0;
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const world = new ShardedWorld(seed);
    await world.run();
    expect({ seed, broken: await world.broken() }).toEqual({ seed, broken: [] });
    refusals += world.refusals;
  }
  // Otherwise no shard was down when it was needed.
  expect(refusals).toBeGreaterThan(SEEDS * 3);
});

const isTwice = (what: string) => what.endsWith('is on two shards');

test('a client that starts the sagas of a lost shard elsewhere is caught: they are there twice', async () => {
  let isCaught = false;
  for (let seed = 1; seed <= 10 && !isCaught; seed += 1) {
    const world = new ShardedWorld(seed, { startSaga: startSomewhere });
    await world.run();
    isCaught = (await world.broken()).some(isTwice);
  }
  expect(isCaught).toBe(true);
});

test('a shard is added, and others are drained and admitted, while sagas start: nothing is lost or doubled', async () => {
  let [onAdded, whileDrained] = [0, 0];
  for (let seed = 1; seed <= CHANGING_SEEDS; seed += 1) {
    const world = new ShardedWorld(seed, { operator: 'careful' });
    await world.run();
    expect({ seed, broken: await world.broken() }).toEqual({ seed, broken: [] });
    onAdded += (await world.sagasOnAdded()).length;
    whileDrained += (await world.startedWhileDrained()).length;
  }
  // Otherwise nothing was added, or drained, while sagas started.
  expect(onAdded).toBeGreaterThan(CHANGING_SEEDS);
  expect(whileDrained).toBeGreaterThan(CHANGING_SEEDS);
});

test('an operator who admits a shard before all processes have it is caught: sagas are there twice', async () => {
  const caught: number[] = [];
  for (let seed = 1; seed <= HASTY_SEEDS && caught.length < 2; seed += 1) {
    const world = new ShardedWorld(seed, { operator: 'hasty' });
    await world.run();
    if ((await world.broken()).some(isTwice)) caught.push(seed);
  }
  expect(caught).toHaveLength(2);
});
