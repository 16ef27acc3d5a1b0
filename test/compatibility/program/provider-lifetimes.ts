import assert from 'node:assert/strict';
import { Injectable, Module, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { Saga, SagaService, Step } from 'nestjs-durable-saga';
import { smallApp, soon, until } from './small-app.js';

/** A client of something outside, which is closed as Nest advises. */
@Injectable()
class RedisClient implements OnModuleDestroy, OnApplicationBootstrap {
  static bootstrapTakes = 0;
  private state: 'connecting' | 'ready' | 'closed' = 'connecting';

  async onApplicationBootstrap(): Promise<void> {
    await soon(RedisClient.bootstrapTakes);
    this.state = 'ready';
  }

  onModuleDestroy(): void {
    this.state = 'closed';
  }

  use(): string {
    if (this.state !== 'ready') throw new Error(`The client is ${this.state}`);
    return 'used';
  }
}

@Module({ providers: [RedisClient], exports: [RedisClient] })
class RedisModule {}

let running = 0;

@Saga({ name: 'slow', retry: { attempts: 1 } })
class SlowSaga {
  constructor(private readonly redis: RedisClient) {}

  @Step()
  async work(): Promise<string> {
    running += 1;
    await soon(500);
    return this.redis.use();
  }
}

const ORDERS = {
  'imported before SagaModule': { first: [RedisModule], providers: [SlowSaga] },
  'imported after SagaModule': { imports: [RedisModule], providers: [SlowSaga] },
  'of the same module as the saga': { providers: [SlowSaga, RedisClient] },
};

export async function findsEveryProviderAlive(url: string): Promise<void> {
  RedisClient.bootstrapTakes = 0;
  for (const [order, parts] of Object.entries(ORDERS)) {
    const app = await smallApp(url, parts);
    const before = running;
    const { id } = await app.get(SagaService).start(SlowSaga, {});
    await until('the step runs', () => running > before);
    await app.close();
    await checkUsed(url, id, parts, order);
  }
}

/** One that is due when the application starts waits until all of it has. */
export async function waitsForTheApplication(url: string): Promise<void> {
  for (const [order, parts] of Object.entries(ORDERS)) {
    RedisClient.bootstrapTakes = 0;
    const first = await smallApp(url, parts);
    const { id } = await first.get(SagaService).start(SlowSaga, {}, { delay: '1s' });
    await first.close();
    await soon(1_000);
    // Longer than the step takes: the client is not ready yet when one that began too soon uses it.
    RedisClient.bootstrapTakes = 1_500;
    await checkUsed(url, id, parts, order);
  }
}

async function checkUsed(
  url: string,
  id: string,
  parts: Parameters<typeof smallApp>[1],
  order: string,
): Promise<void> {
  const app = await smallApp(url, parts);
  try {
    const { status, results, failure } = await app.get(SagaService).wait(id, { timeout: '60s' });
    assert.deepEqual([order, status, failure], [order, 'completed', undefined]);
    assert.deepEqual(results, { work: 'used' });
    assert.equal((await app.get(SagaService).get(id)).steps[0]!.attempts, 1);
  } finally {
    await app.close();
  }
}
