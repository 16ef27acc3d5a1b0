import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { Saga, Step } from 'nestjs-durable-saga';
import { open, ownSchema } from './app.js';
import { eventually } from '../eventually.js';

const transfers = { now: 0, most: 0, done: 0 };

@Saga({ name: 'transfer', version: 1 })
class TransferSaga {
  @Step({ limit: { count: 1 } })
  async pay(): Promise<void> {
    transfers.most = Math.max(transfers.most, (transfers.now += 1));
    await sleep(400);
    transfers.now -= 1;
    transfers.done += 1;
  }
}

@Saga({ name: 'transfer', version: 2 })
class SecondTransferSaga {
  @Step() payOut(): void {}
}

/** The limit of a step holds beside a version of its saga that does not have it. */
export async function limitBesideAnotherVersion(): Promise<void> {
  const options = { schema: ownSchema(), worker: { pollInterval: '200ms' } } as const;
  const first = await open([TransferSaga], options);
  for (let n = 0; n < 8; n += 1) await first.sagas.start(TransferSaga, undefined);
  await eventually(() => assert.ok(transfers.done > 0));
  await first.close();
  const both = await open([TransferSaga, SecondTransferSaga], options);
  await eventually(() => assert.equal(transfers.done, 8), 60_000);
  assert.equal(transfers.most, 1);
  await both.close();
}

let printed = 0;

@Saga({ name: 'label' })
class LabelSaga {
  @Step({ limit: { count: 1 } })
  async print(): Promise<void> {
    await sleep(20);
    printed += 1;
  }
}

@Saga({ name: 'busy' })
class BusySaga {
  @Step() async work(): Promise<void> {
    await sleep(200);
  }
}

/** What waits for a slot gets it, whatever else is due. */
export async function limitedStepBehindABacklog(): Promise<void> {
  const worker = { concurrency: 4, pollInterval: '200ms' } as const;
  const { sagas, operations, close } = await open([LabelSaga, BusySaga], { schema: ownSchema(), worker });
  let running = true;
  const backlog = (async () => {
    while (running) {
      await Promise.all(Array.from({ length: 40 }, () => sagas.start(BusySaga, undefined)));
      await sleep(1_000);
    }
  })();
  await sleep(500);
  for (let n = 0; n < 20; n += 1) await sagas.start(LabelSaga, undefined, { priority: 50 });
  await eventually(() => assert.equal(printed, 20), 60_000);
  running = false;
  await backlog;
  await operations.bulk('abort', { saga: BusySaga, status: 'running' }, { by: 'ann', reason: 'the end' });
  await close();
}
