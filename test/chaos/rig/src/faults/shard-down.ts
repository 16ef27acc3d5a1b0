import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../eventually.js';
import { SHARDS } from '../programs/saga-modules.js';
import { LONGEST_REFUSAL } from '../sharded-load.js';
import type { DemoEnvironment, Fault } from '../stage.js';

/** The other shard has to end at least this share of what it ended before in the same time. */
const LEAST_THROUGHPUT = 0.5;

export const shardDown: Fault = {
  name: 'shard-down',
  what: 'SIGKILL to the PostgreSQL server of one of two shards, which comes back after three to eight seconds. Meanwhile, the other shard has to end as many sagas as before, calls for the lost one have to fail at once, and sagas without a key have to start.',
  shards: true,
  async inject(stage) {
    const { chance } = stage;
    const { server, sagas } = stage.lostShard!;
    const { rows } = await sagas.query<{ id: string }>('SELECT id FROM saga.instance LIMIT 1');
    const outage = chance.between(3_000, 8_000);
    const before = await endedOnOther(stage, outage);
    await server.kill();
    const killed = performance.now();
    await expectRefusal(stage, rows[0]!.id);
    await sleep(killed + outage - performance.now());
    const during = await endedOnOther(stage, performance.now() - killed);
    if (during < before * LEAST_THROUGHPUT)
      stage.surprises.push(`the other shard ended ${during} sagas, and ${before} before`);
    await expectNoTakeover(stage);
    await server.resumeAfterKill();
  },
};

/** Sagas that the shard that is never lost has ended in the last so many milliseconds. */
async function endedOnOther({ sagas }: DemoEnvironment, time: number): Promise<number> {
  const { rows } = await sagas.query<{ ended: number }>(
    `SELECT count(*)::int AS ended FROM saga.instance WHERE finished_at > now() - $1 * interval '1 millisecond'`,
    [time],
  );
  return rows[0]!.ended;
}

/** A call for a saga of the lost shard fails at once, and the list says what it lacks. */
async function expectRefusal({ service, surprises }: DemoEnvironment, id: string): Promise<void> {
  const began = performance.now();
  const refusal = await service.get(id).catch((error: { code?: string }) => error.code);
  const took = Math.round(performance.now() - began);
  if (refusal !== 'SAGA_SHARD_UNAVAILABLE' || took > LONGEST_REFUSAL)
    surprises.push(`get() of a saga on the lost shard: ${JSON.stringify(refusal)} after ${took} ms`);
  await eventually(async () => {
    const { unreachable } = await service.find({ limit: 1 });
    return unreachable?.join() === SHARDS.lost;
  }, LONGEST_REFUSAL).catch(() => surprises.push('find() does not name the lost shard'));
}

/** No worker may lose a lease on the shard whose server is never harmed. */
async function expectNoTakeover({ sagas, surprises }: DemoEnvironment): Promise<void> {
  const { rows } = await sagas.query<{ id: string }>('SELECT id FROM saga.instance WHERE takeovers > 0');
  for (const { id } of rows) surprises.push(`${id}: was taken over, although its shard was never lost`);
}
