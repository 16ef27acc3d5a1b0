import 'reflect-metadata';
import { setTimeout as sleep } from 'node:timers/promises';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DataSource } from 'typeorm';
import { Participants } from './participants.js';
import { RIG_SAGAS } from './rig-sagas.js';
import { rollingSaga } from './rolling.saga.js';
import { POOL_SIZE, sagaModules } from './saga-modules.js';

/** What the rig does to this process from inside. */
export type WorkerCommand =
  /** Its event loop stands still. */
  | { readonly type: 'block'; readonly for: number }
  /** All connections of its pool are taken. */
  | { readonly type: 'exhaust'; readonly for: number }
  /** See wall-clock.ts. */
  | { readonly type: 'shift-clock'; readonly by: number };

const versions = (process.env.ROLLING ?? '1').split(',').map(Number);

@Module({
  imports: sagaModules(process.env.DATABASE_URLS!.split(' '), {
    lease: Number(process.env.LEASE),
    pollInterval: 200,
  }),
  providers: [Participants, ...RIG_SAGAS, ...versions.map(rollingSaga)],
})
class WorkerModule {}

async function exhaust(dataSource: DataSource, time: number): Promise<void> {
  const runners = Array.from({ length: POOL_SIZE }, () => dataSource.createQueryRunner());
  await Promise.all(runners.map((runner) => runner.connect()));
  process.send?.({ type: 'exhausted' });
  await sleep(time);
  await Promise.all(runners.map((runner) => runner.release()));
}

function block(time: number): void {
  const end = performance.now() + time;
  while (performance.now() < end);
}

const app = await NestFactory.createApplicationContext(WorkerModule, {
  logger: process.env.VERBOSE ? undefined : false,
});
app.enableShutdownHooks();
process.on('message', (command: WorkerCommand) => {
  if (command.type === 'block') block(command.for);
  if (command.type === 'exhaust') void exhaust(app.get(DataSource), command.for);
});
process.on('disconnect', () => process.exit(1));
process.send?.({ type: 'ready' });
