// The saga of saga.mjs and saga-on-restate.mjs: three no-op steps.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Saga, Step } from 'nestjs-durable-saga';
import { tracker } from './lib.mjs';

export const { version } = JSON.parse(
  readFileSync(createRequire(import.meta.url).resolve('nestjs-durable-saga/package.json')),
);

export class BenchSaga {
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
