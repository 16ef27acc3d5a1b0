import 'reflect-metadata';
import assert from 'node:assert/strict';
import { Inject, Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Saga, SagaModule, SagaService, Step, type StepContext } from 'nestjs-durable-saga';
import { DataSource } from 'typeorm';
import { loadedVersions } from './loaded-versions.js';

@Injectable()
class GreetingService {
  greet(name: string): string {
    return `hello ${name}`;
  }
}

/** For compilers that emit no metadata of types: each constructor parameter says what it is. */
@Saga()
class GreetSaga {
  constructor(@Inject(GreetingService) private readonly greetings: GreetingService) {}

  @Step()
  async greet(ctx: StepContext<{ name: string }>): Promise<string> {
    return this.greetings.greet(ctx.input.name);
  }
}

@Module({
  imports: [TypeOrmModule.forRoot({ type: 'postgres', url: process.env.DATABASE_URL }), SagaModule.forRoot()],
  providers: [GreetSaga, GreetingService],
})
class AppModule {}

async function main(): Promise<void> {
  // Otherwise another compiler was at work than the one that this is about.
  assert.equal(Reflect.getMetadata('design:paramtypes', GreetSaga), undefined);
  const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error', 'warn'] });
  const handle = await app.get(SagaService).start(GreetSaga, { name: 'you' });
  const outcome = await handle.outcome({ timeout: '60s' });
  assert.equal(outcome.results.greet, 'hello you');
  console.log(JSON.stringify(await loadedVersions(app.get(DataSource))));
  await app.close();
}

void main();
