/** What the options and the calls of shards check. Compiled with the tests' type check; there is nothing to run. */
import {
  Saga,
  SagaModule,
  type SagaService,
  type SagaShards,
  Step,
  type StepContext,
} from 'nestjs-durable-saga';
import type { ShardStatus } from 'nestjs-durable-saga/operators';
import { pgDatabase } from 'nestjs-durable-saga/pg';
import { Pool } from 'pg';
import type { Equal, Expect } from './expect.js';

@Saga()
class OrderSaga {
  @Step() reserve(_ctx: StepContext<{ region: string }>): void {}
}

const [eu, us] = [new Pool(), new Pool()];
export const modules = [
  SagaModule.forRoot({
    shards: { eu: pgDatabase(eu), us: pgDatabase(us), asia: 'a DataSource' },
    shardOf: ({ saga, input, correlationId }) => {
      const given: [string, unknown, string | undefined] = [saga, input, correlationId];
      return given.length > 0 ? 'eu' : undefined;
    },
  }),
  // @ts-expect-error A pool is not the database of a layer.
  SagaModule.forRoot({ shards: { eu } }),
  // @ts-expect-error The name of a shard is a string.
  SagaModule.forRoot({ shards: { eu: pgDatabase(eu) }, shardOf: () => 1 }),
  SagaModule.forRoot({
    shards: {
      eu: { database: pgDatabase(eu), schema: 'saga_eu' },
      us: { database: 'us' },
      asia: pgDatabase(eu),
    },
  }),
  // @ts-expect-error A shard has a database.
  SagaModule.forRoot({ shards: { eu: { schema: 'saga_eu' } } }),
  // @ts-expect-error The name of a schema is a string.
  SagaModule.forRoot({ shards: { eu: { database: pgDatabase(eu), schema: 1 } } }),
  // @ts-expect-error There is no such option.
  SagaModule.forRoot({ shards: { eu: { database: pgDatabase(eu), shema: 'saga_eu' } } }),
];

export async function calls(sagas: SagaService, shards: SagaShards) {
  await sagas.start(OrderSaga, { region: 'eu' }, { shard: 'eu' });
  // @ts-expect-error The name of a shard is a string.
  await sagas.start(OrderSaga, { region: 'eu' }, { shard: 1 });
  await shards.drain('eu', { by: 'ann', reason: 'a new server' });
  // @ts-expect-error A shard is not a saga: there is no state to expect.
  await shards.open('eu', { expects: { revision: 1 } });
  await shards.close('eu', { by: 'ann', reason: 'a server of its own' });
  await shards.open('eu', { by: 'ann' });
  const all = await shards.list();
  // @ts-expect-error There are no counts of a shard that cannot be reached.
  return all[0]!.counts.due;
}

export type ListsShards = Expect<Equal<Awaited<ReturnType<SagaShards['list']>>, ShardStatus[]>>;
