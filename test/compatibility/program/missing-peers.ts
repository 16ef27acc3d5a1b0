import 'reflect-metadata';
import assert from 'node:assert/strict';
import { NestFactory } from '@nestjs/core';
import { DataSource } from 'typeorm';
import { Saga, Step } from 'nestjs-durable-saga';
import type * as Testing from 'nestjs-durable-saga/testing';
import { AppModule } from './app.module.js';
import { loadedVersions } from './loaded-versions.js';
import { itCompletes } from './promises.js';

/** The other packages of the library, none of which is installed here. */
const OTHERS = ['messaging', 'telemetry', 'admin', 'declared', 'cli'].map(
  (name) => `nestjs-durable-saga-${name}`,
);

class Announcement {
  readonly text!: string;
}

@Saga({ input: Announcement })
class AnnounceSaga {
  @Step()
  async announce(): Promise<void> {}
}

/** Where the core alone is installed, sagas run, the harness can be had, and what is missing is named. */
async function main(): Promise<void> {
  const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error', 'warn'] });
  await itCompletes(app);
  const versions = await loadedVersions(app.get(DataSource));
  await app.close();
  const { SagaTest } = (await load('nestjs-durable-saga/testing')) as unknown as typeof Testing;
  await assert.rejects(
    SagaTest.of(AnnounceSaga).run({}),
    /class-validator and class-transformer, required to .* not installed; .*npm install class-validator class-transformer/,
  );
  for (const other of OTHERS) await assert.rejects(load(other), new RegExp(`Cannot find package '${other}'`));
  console.log(JSON.stringify(versions));
}

/** By a name that the compiler does not know, since the types of what is missing are missing, too. */
function load(name: string): Promise<Record<string, unknown>> {
  return import(name) as Promise<Record<string, unknown>>;
}

void main();
