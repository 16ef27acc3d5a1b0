import 'reflect-metadata';
import assert from 'node:assert/strict';
import { NestFactory } from '@nestjs/core';
import { DataSource } from 'typeorm';
import { Saga, Step } from 'nestjs-durable-saga';
import type * as Testing from 'nestjs-durable-saga/testing';
import { AppModule } from './app.module.js';
import { loadedVersions } from './loaded-versions.js';
import { itCompletes } from './promises.js';

/** The entry points whose packages are not installed here, and what those are. */
const ENTRIES = { messaging: '@nestjs/microservices', telemetry: '@opentelemetry/api' };

class Announcement {
  readonly text!: string;
}

@Saga({ input: Announcement })
class AnnounceSaga {
  @Step()
  async announce(): Promise<void> {}
}

/** Where nothing optional is installed, sagas run, the admin and the harness can be had, and what is missing is named. */
async function main(): Promise<void> {
  const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error', 'warn'] });
  await itCompletes(app);
  const versions = await loadedVersions(app.get(DataSource));
  await app.close();
  const { SagaTest } = (await load('testing')) as unknown as typeof Testing;
  await assert.rejects(
    SagaTest.of(AnnounceSaga).run({}),
    /class-validator and class-transformer, required to .* not installed; .*npm install class-validator class-transformer/,
  );
  assert.ok((await load('admin')).SagaAdminModule);
  for (const [entry, missing] of Object.entries(ENTRIES))
    await assert.rejects(load(entry), (error: Error) => {
      assert.match(error.message, new RegExp(`Cannot find package '${missing}'`));
      return true;
    });
  console.log(JSON.stringify(versions));
}

/** By a name that the compiler does not know, since the types of what is missing are missing, too. */
function load(entry: string): Promise<Record<string, unknown>> {
  return import(`nestjs-durable-saga/${entry}`) as Promise<Record<string, unknown>>;
}

void main();
