import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { SagaModule, SagaService } from 'nestjs-durable-saga';
import { startEmbeddedPostgres } from '../support/embedded-postgres.mjs';
import { ChaosOrderSaga } from './programs/order.saga.js';
import { Participants } from './programs/participants.js';
import { checkOrders } from './support/check-orders.js';
import { type ChaosDatabases, createChaosDatabases, eventually } from './support/chaos-databases.js';
import { WorkerProcess } from './support/worker-process.js';

const RESTARTS = 3;

describe('PostgreSQL is restarted as by pg_ctl restart -m immediate, under load', () => {
  let server: Awaited<ReturnType<typeof startEmbeddedPostgres>>;
  let databases: ChaosDatabases;
  let worker: WorkerProcess;

  beforeAll(async () => {
    server = await startEmbeddedPostgres();
    // The participants stay up: it is the sagas' database that goes.
    databases = await createChaosDatabases(async () => ({ url: server.url, drop: async () => undefined }));
    worker = await WorkerProcess.start(databases.environment);
  });

  afterAll(async () => {
    await worker.kill();
    await databases.drop();
    await server.stop();
  });

  test('every saga whose start was acknowledged ends, with nothing doubled, missing or left undone', async () => {
    process.env.PARTICIPANT_URL = databases.environment.PARTICIPANT_URL;

    @Module({
      imports: [
        TypeOrmModule.forRoot({ type: 'postgres', url: server.url }),
        SagaModule.forRoot({ worker: { lease: 1_000, pollInterval: 200 } }),
      ],
      providers: [Participants, ChaosOrderSaga],
    })
    class AppModule {}

    const app = await NestFactory.createApplicationContext(AppModule, { logger: false });
    const sagas = app.get(SagaService);
    const acknowledged: string[] = [];
    let loading = true;
    const load = Array.from({ length: 20 }, async (_, lane) => {
      for (let n = 0; loading; n += 1) {
        const input = { n, refused: n % 5 === 0, shaky: n % 7 === 0 };
        const { id } = await sagas.start(ChaosOrderSaga, input, { correlationId: `${lane}-${n}` });
        acknowledged.push(id);
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    });
    for (let restart = 0; restart < RESTARTS; restart += 1) {
      const before = acknowledged.length;
      await eventually(
        async () => acknowledged.length,
        (n) => n > before + 100,
      );
      await server.restartImmediately();
    }
    loading = false;
    await Promise.all(load);

    const ended = await Promise.all(acknowledged.map(async (id) => (await sagas.wait(id)).status));
    expect(ended.every((status) => status === 'completed' || status === 'compensated')).toBe(true);
    const { wrong } = await checkOrders(databases.sagas, databases.participants);
    expect(wrong).toEqual([]);
    await app.close();
  }, 300_000);
});
