import { type INestApplicationContext, Module, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { SagaModule } from 'nestjs-durable-saga';
import { Participants } from '../programs/participants.js';
import type { ChaosDatabases } from './chaos-databases.js';

/** An application in the test's own process that starts sagas and runs none. */
export function createStarter(
  { environment }: ChaosDatabases,
  sagas: Type[],
): Promise<INestApplicationContext> {
  process.env.PARTICIPANT_URL = environment.PARTICIPANT_URL;

  @Module({
    imports: [
      TypeOrmModule.forRoot({ type: 'postgres', url: environment.DATABASE_URL }),
      SagaModule.forRoot({ worker: false }),
    ],
    providers: [Participants, ...sagas],
  })
  class StarterModule {}

  return NestFactory.createApplicationContext(StarterModule, { logger: false });
}
