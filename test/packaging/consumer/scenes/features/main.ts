import 'reflect-metadata';
import { Module, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { SagaModule, SagaOperations, SagaSchedules, SagaService } from 'nestjs-durable-saga';
import { onEngine } from '../engine.js';
import { outcomesOf } from '../outcomes-of.js';
import * as limits from './limits.js';
import * as longSteps from './long-steps.js';
import * as operators from './operators.js';
import * as people from './people.js';
import * as schedules from './schedules.js';
import * as times from './times.js';

const sagas = () => SagaModule.forRootAsync({ useFactory: onEngine });
const database = () => TypeOrmModule.forRoot({ type: 'postgres', url: process.env.DATABASE_URL });

@Module({
  imports: [database(), sagas()],
  providers: [
    ...limits.limitSagas,
    ...longSteps.longStepSagas,
    ...operators.operatorSagas,
    ...people.peopleSagas,
    ...schedules.scheduleSagas,
    ...times.timeSagas,
  ],
})
class AppModule {}

@Module({ imports: [database(), sagas()], providers: schedules.scheduleSagas })
class SecondModule {}

@Module({ imports: [database(), sagas()], providers: [schedules.CaughtUpSaga] })
class CatchUpModule {}

const start = (module: Type) => NestFactory.createApplicationContext(module, { logger: ['error'] });

/**
 * What users of schedules, times, progress, limits and operators' calls do, by the documentation alone. Prints what became
 * of each scene.
 */
async function main(): Promise<void> {
  const app = await start(AppModule);
  const second = await start(SecondModule);
  const sagas = app.get(SagaService);
  const operations = app.get(SagaOperations);
  const scheduled = app.get(SagaSchedules);
  const scenes: Record<string, () => Promise<void>> = {
    oneSagaForEachTick: () => schedules.oneSagaForEachTick(sagas),
    overlap: () => schedules.overlap(sagas, scheduled),
    pauseResumeTrigger: () => schedules.pauseResumeTrigger(scheduled),
    daylightSaving: () => schedules.daylightSaving(),
    catchUp: () => schedules.catchUp(sagas, () => start(CatchUpModule)),
    delaysFromTheData: () => times.delaysFromTheData(sagas, operations),
    timeoutsFromTheData: () => times.timeoutsFromTheData(sagas),
    rescheduleWaits: () => times.rescheduleWaits(sagas, operations),
    backoff: () => times.backoff(sagas, operations),
    heartbeats: () => longSteps.heartbeats(sagas),
    progressAndWatch: () => longSteps.progressAndWatch(sagas),
    confirmedCompensation: () => longSteps.confirmedCompensation(sagas),
    slots: () => limits.slots(sagas),
    numbers: () => limits.numbers(sagas),
    rates: () => limits.rates(sagas),
    lockModeReject: () => limits.lockModeReject(sagas),
    quorumAndTasks: () => people.quorumAndTasks(sagas),
    tagsTokensAndNames: () => people.tagsTokensAndNames(sagas),
    optionalStep: () => operators.optionalStep(sagas),
    cancelUnlessBegun: () => operators.cancelUnlessBegun(sagas, operations),
    outOfAHang: () => operators.outOfAHang(sagas, operations),
    pausedStep: () => operators.pausedStep(sagas, operations),
  };
  console.log(JSON.stringify(await outcomesOf(scenes)));
  await second.close();
  await app.close();
}

void main();
