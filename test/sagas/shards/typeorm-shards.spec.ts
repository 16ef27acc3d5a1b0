import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { getDataSourceToken, TypeOrmModule } from '@nestjs/typeorm';
import type { DataSource, EntityManager } from 'typeorm';
import {
  Saga,
  SagaModule,
  SagaService,
  Step,
  type TransactionalStepContext,
} from '../../../libs/saga/src/index.js';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.js';

@Saga({ name: 'order' })
class OrderSaga {
  @Step({ transactional: true }) async reserve({ manager }: TransactionalStepContext) {
    const [row] = await manager.query<[{ name: string }]>('SELECT current_database() AS name');
    return row.name;
  }
}

@Module({})
class TestModule {}

test('shards are DataSources of TypeORM by their names, with the transactions of their sagas', async () => {
  const databases: Record<string, TestDatabase> = {
    eu: await createTestDatabase(),
    us: await createTestDatabase(),
  };
  const connections = Object.entries(databases).map(([name, { url }]) =>
    TypeOrmModule.forRoot({ type: 'postgres', name, url, retryAttempts: 0 }),
  );
  const shards = SagaModule.forRootAsync({ useFactory: () => ({ shards: { eu: 'eu', us: 'us' } }) });
  const module = { module: TestModule, imports: [...connections, shards], providers: [OrderSaga] };
  const nest = await NestFactory.createApplicationContext(module, { logger: false, abortOnError: false });
  const sagas = nest.get(SagaService, { strict: false });
  for (const [name, { url }] of Object.entries(databases)) {
    const dataSource = nest.get<DataSource>(getDataSourceToken(name), { strict: false });
    const start = (manager: EntityManager) => sagas.start(OrderSaga, {}, { manager });
    const { id } = await dataSource.transaction(start);
    expect((await sagas.wait(id)).results).toEqual({ reserve: new URL(url).pathname.slice(1) });
  }
  await nest.close();
  for (const database of Object.values(databases)) await database.drop();
});
