import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Saga, Step, type StepContext } from 'nestjs-durable-saga';
import { SagaTest } from 'nestjs-durable-saga/testing';
import { eventually, gate } from '../eventually.js';
import { open, ownSchema, URL as DATABASE } from './app.js';
import { Wire } from './wire.js';

interface Work {
  readonly tenant: string;
}

const inProgress = new Map<string, number>();
const most = new Map<string, number>();

@Saga({ name: 'print' })
class PrintSaga {
  @Step({
    idempotent: false,
    limit: { count: 1, key: ({ input }: { input: Work }) => input.tenant },
  })
  async print({ input: { tenant } }: StepContext<Work>): Promise<void> {
    const count = (inProgress.get(tenant) ?? 0) + 1;
    inProgress.set(tenant, count);
    most.set(tenant, Math.max(count, most.get(tenant) ?? 0));
    await sleep(20);
    inProgress.set(tenant, inProgress.get(tenant)! - 1);
  }
  @Step() send(_: StepContext<Work>): void {}
}

const goOn = gate();

@Saga({ name: 'label' })
class LabelSaga {
  @Step({ limit: { count: 1, key: ({ input }: { input: Work }) => input.tenant } })
  print(_: StepContext<Work>): void {}
  @Step() send(_: StepContext<Work>): Promise<void> {
    return goOn.opened;
  }
}

/** A slot is free for the next saga of its key although the server did not answer when it was freed. */
export async function slotsAreFreedInTheEnd(): Promise<void> {
  const wire = await Wire.before(DATABASE);
  const { sagas, close } = await open([LabelSaga], { schema: ownSchema(), url: wire.url });
  wire.answerNext('free_slots', { code: 'XX000', message: 'an answer that is on no list', fatal: true });
  const first = await sagas.start(LabelSaga, { tenant: 'acme' });
  await eventually(() => assert.equal(wire.answered, 1));
  const second = await sagas.start(LabelSaga, { tenant: 'acme' });
  await eventually(async () => assert.equal((await sagas.get(second.id)).step, 'send'));
  goOn.open();
  for (const { outcome } of [first, second]) assert.equal((await outcome()).status, 'completed');
  await close();
  wire.close();
}

/** Each saga that waits for a slot of its key gets it, also while workers stop and start. */
export async function slotsOfKeysAreCalled(): Promise<void> {
  const options = { schema: ownSchema(), worker: { pollInterval: '200ms', concurrency: 6 } } as const;
  const starter = await open([PrintSaga], { ...options, worker: false });
  let workers = [await open([PrintSaga], options), await open([PrintSaga], options)];
  const handles = await Promise.all(
    Array.from({ length: 60 }, (_, n) =>
      starter.sagas.start(PrintSaga, { tenant: ['acme', 'globex'][n % 2]! }),
    ),
  );
  for (let round = 0; round < 4; round += 1) {
    await sleep(150);
    const [first, ...others] = workers;
    await first!.close();
    workers = [...others, await open([PrintSaga], options)];
  }
  for (const handle of handles) assert.equal((await handle.outcome({ timeout: '30s' })).status, 'completed');
  assert.deepEqual(Object.fromEntries(most), { acme: 1, globex: 1 });
  for (const { close } of [...workers, starter]) await close();
}

const began = gate();
const found: (number | undefined)[] = [];

@Saga({ name: 'import', onFailure: 'suspend' })
class ImportSaga {
  @Step({ idempotent: false })
  async load(ctx: StepContext): Promise<void> {
    found.push((ctx.lastHeartbeat as { line: number } | undefined)?.line);
    if (found.length > 1) return;
    await ctx.heartbeat({ line: 1 });
    began.open();
    await sleep(200);
    await ctx.heartbeat({ line: 2 });
    await new Promise(() => {});
  }
}

/** The last heartbeat of a step that a shutdown interrupts is there for the next attempt. */
export async function lastHeartbeatIsStored(): Promise<void> {
  const options = { schema: ownSchema(), worker: { shutdownTimeout: 500 } };
  const first = await open([ImportSaga], options);
  const { id } = await first.sagas.start(ImportSaga, undefined);
  await began.opened;
  await first.close();
  const { sagas, operations, close } = await open([ImportSaga], options);
  assert.equal((await sagas.get(id)).status, 'suspended');
  await operations.retry(id, { by: 'ann', reason: 'it may run again' });
  await eventually(async () => assert.equal((await sagas.get(id)).status, 'completed'));
  assert.deepEqual(found, [undefined, 2]);
  await close();
}

@Saga({ name: 'ship' })
class ShipSaga {
  @Step() pack(_: StepContext<string>): void {}
  @Step() ship(_: StepContext<string>): void {}
}

const INPUT = 200_000;

/** Runs of SagaTest whose processes were killed are not kept in memory, whatever never returned to them. */
export async function endedTestsAreNotKept(): Promise<void> {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const saga = SagaTest.of(ShipSaga);
  const killed = [saga.crashing('pack', 'before'), saga.crashing('ship', 'after')];
  const play = async (times: number): Promise<number> => {
    for (let n = 0; n < times; n += 1) for (const test of killed) await test.run(String(n).padEnd(INPUT));
    await sleep(0);
    collect();
    return process.memoryUsage().heapUsed;
  };
  const before = await play(5);
  const grown = (await play(25)) - before;
  assert.ok(grown < 10 * INPUT, `${grown} bytes are kept`);
}
