// What saga.mjs and saga-on-restate.mjs share: a saga of three no-op steps, and an application that has it.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Saga, SagaService, Step } from 'nestjs-durable-saga';
import { tracker, windowed } from './lib.mjs';

export const { version } = JSON.parse(
  readFileSync(createRequire(import.meta.url).resolve('nestjs-durable-saga/package.json')),
);

class BenchSaga {
  async s1() {
    return 1;
  }
  async s2() {
    return 1;
  }
  async s3(ctx) {
    const { i } = ctx.input;
    queueMicrotask(() => tracker.done(i));
    return 1;
  }
}
// What the compiler makes of @Step() and @Saga().
for (const name of ['s1', 's2', 's3']) {
  Step()(BenchSaga.prototype, name, Object.getOwnPropertyDescriptor(BenchSaga.prototype, name));
}
Saga()(BenchSaga);

export class BenchApp {
  #app;
  #sagas;

  /** @param imports SagaModule, and what it needs */
  async start(...imports) {
    class AppModule {}
    Module({ imports, providers: [BenchSaga] })(AppModule);
    this.#app = await NestFactory.createApplicationContext(AppModule, { logger: ['warn', 'error'] });
    this.#sagas = this.#app.get(SagaService);
  }

  /** Starts n sagas, so many at once. @param awaitsOutcome a start is in flight until its saga is finished */
  submit(from, n, window, awaitsOutcome) {
    return windowed(from, n, window, async (i) => {
      const handle = await this.#sagas.start(BenchSaga, { i });
      if (awaitsOutcome) await handle.outcome();
    });
  }

  async startOne(i) {
    return (await this.#sagas.start(BenchSaga, { i })).id;
  }

  async isCompleted(id) {
    return (await this.#sagas.get(id)).status === 'completed';
  }

  close() {
    return this.#app.close();
  }
}
