import 'reflect-metadata';
import { type INestApplicationContext, Logger, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { SagaModule, SagaService } from 'nestjs-durable-saga';
import { DataSource } from 'typeorm';
import { BookedSaga } from './booked.saga.js';
import { FamilyOrderSaga, FamilyShipmentSaga } from './family.saga.js';
import { HeldSaga } from './held.saga.js';
import { LedgerSaga } from './ledger.saga.js';
import { LimitedSaga, SlottedSaga } from './limited.saga.js';
import { DestroyReport, LongSaga } from './long.saga.js';
import { ChaosOrderSaga } from './order.saga.js';
import { Participants } from './participants.js';
import { ChaosStockHandlers, RemoteOrderSaga } from './remote.saga.js';
import { holdForEver, report } from './report.js';
import { ResumingSaga } from './resuming.saga.js';
import { WaitingSaga } from './waiting.saga.js';

const SAGAS = [
  BookedSaga,
  ChaosOrderSaga,
  FamilyOrderSaga,
  FamilyShipmentSaga,
  HeldSaga,
  LedgerSaga,
  LimitedSaga,
  LongSaga,
  RemoteOrderSaga,
  ResumingSaga,
  SlottedSaga,
  WaitingSaga,
];

const { RESTATE_INGRESS: ingress, RESTATE_ADMIN: admin, RESTATE_PORT, RESTATE_ADDRESS } = process.env;

/** Restate, if the test has one. */
const engine =
  ingress && admin
    ? (await import('nestjs-durable-saga-restate')).restateEngine({
        ...{ ingress, admin, port: Number(RESTATE_PORT), address: RESTATE_ADDRESS },
      })
    : undefined;

/** What Restate keeps. */
const ON_RESTATE = [
  BookedSaga,
  ChaosOrderSaga,
  FamilyOrderSaga,
  FamilyShipmentSaga,
  HeldSaga,
  LongSaga,
  WaitingSaga,
];

@Module({
  imports: [
    TypeOrmModule.forRoot({ type: 'postgres', url: process.env.DATABASE_URL, poolSize: 10 }),
    SagaModule.forRoot({
      engine,
      worker:
        process.env.WORKER === 'false'
          ? false
          : // Where several specs share two processors, such a lease runs out in workers that live. A crash loop is not tried here.
            { lease: Number(process.env.LEASE ?? 1000), pollInterval: 200, maxTakeovers: 100 },
    }),
  ],
  providers: [
    Participants,
    DestroyReport,
    ...(process.env.ROLE === 'stock' ? [ChaosStockHandlers] : engine ? ON_RESTATE : SAGAS),
  ],
})
class WorkerModule {}

type Command =
  | { readonly type: 'start-in-transaction'; readonly hold: boolean }
  | { readonly type: 'start-orders'; readonly count: number }
  /** For the step that waits for it. */
  | { readonly type: 'finish' };

async function carryOut(command: Command, app: INestApplicationContext): Promise<void> {
  if (command.type === 'finish') return;
  const sagas = app.get(SagaService);
  if (command.type === 'start-orders') {
    const handles = await Promise.all(
      Array.from({ length: command.count }, (_, n) =>
        sagas.start(ChaosOrderSaga, { n, refused: false, shaky: false }, { correlationId: `order-${n}` }),
      ),
    );
    report({ type: 'orders-started', handles: handles.map(({ id, created }) => ({ id, created })) });
    return;
  }
  await app.get(DataSource).transaction(async (manager) => {
    await manager.query('INSERT INTO ledger (saga_id, entry) VALUES (gen_random_uuid(), $1)', ['order']);
    const { id } = await sagas.start(LedgerSaga, { hold: false }, { manager });
    report({ type: 'started', id });
    if (command.hold) await holdForEver();
  });
}

/** One process among several, told what to do by the test that started it. */
async function main(): Promise<void> {
  const app = await NestFactory.createApplicationContext(WorkerModule, {
    logger: process.env.VERBOSE ? new Logger() : false,
  });
  if (process.env.SHUTDOWN_HOOKS !== 'false') {
    app.enableShutdownHooks();
    process.once('SIGTERM', () => report({ type: 'signalled' }));
  }
  process.on('message', (command: Command) => void carryOut(command, app));
  process.on('disconnect', () => process.exit(1));
  report({ type: 'ready', pid: process.pid });
}

await main();
