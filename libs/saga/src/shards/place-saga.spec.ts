import { newId } from '../shared/new-id.js';
import { placeSaga, type StartedSaga } from './place-saga.js';
import { Shard } from './shard.js';

const [EU, US, ASIA] = ['eu', 'us', 'asia'];

/** Shards without sagas, and what happens during the first look for one. */
function scene(during: (shards: ReadonlyMap<string, Shard>) => void) {
  const shards = new Map([EU, US, ASIA].map((name) => [name, new Shard(name)]));
  let looks = 0;
  const calls = {
    load: () => {
      looks += 1;
      if (looks === 1) during(shards);
      return Promise.resolve(undefined);
    },
  };
  for (const [n, shard] of [...shards.values()].entries())
    shard.open({ name: shard.name, number: n + 1, accepting: true, changed: true } as never, calls as never);
  return { shards, all: [...shards.values()] };
}

const saga = (correlationId: string) =>
  ({ id: newId(), fresh: true, name: 'order', correlationId }) as StartedSaga;
const drain = (shard: Shard) => shard.read({ ...shard.row!, accepting: false });

/** A correlation id whose home is the first of these shards, and the second one if that is drained. */
async function keyOf(first: string, second: string): Promise<string> {
  for (let n = 0; ; n += 1) {
    const { all, shards } = scene(() => undefined);
    const home = async () => (await placeSaga(saga(`order-${n}`), all, undefined)).shard.name;
    if ((await home()) !== first) continue;
    drain(shards.get(first)!);
    if ((await home()) === second) return `order-${n}`;
  }
}

test('a saga starts on another shard if its home is drained while others are asked for it', async () => {
  const key = await keyOf(EU, US);
  const { all } = scene((shards) => drain(shards.get(EU)!));
  const { shard } = await placeSaga(saga(key), all, undefined);
  expect(shard.name).toBe(US);
});

test('a saga is refused if all shards are drained while they are asked for it', async () => {
  const key = await keyOf(EU, US);
  const { all } = scene((shards) => [...shards.values()].forEach(drain));
  await expect(placeSaga(saga(key), all, undefined)).rejects.toThrow('no shard accepts new sagas');
});

test('a saga is refused on the shard that the application has chosen, if that is drained meanwhile', async () => {
  const { all, shards } = scene((given) => drain(given.get(ASIA)!));
  const start = placeSaga(saga('order-1'), all, [shards.get(ASIA)!]);
  await expect(start).rejects.toThrow("shard 'asia' accepts no new sagas");
});
