import { Module, type ModuleMetadata, type Provider, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import pg from 'pg';
import {
  SagaModule,
  type SagaModuleOptions,
  SagaOperations,
  SagaSchedules,
  SagaService,
  SagaShards,
} from 'nestjs-durable-saga';

export const URL = process.env.DATABASE_URL!;
/** A server of its own, and its standby. */
export const PRIMARY = process.env.PRIMARY_URL!;
export const STANDBY = process.env.STANDBY_URL!;

export interface App {
  readonly sagas: SagaService;
  readonly operations: SagaOperations;
  readonly schedules: SagaSchedules;
  readonly shards: SagaShards;
  get<T>(type: Type<T>): T;
  close(): Promise<void>;
}

let schemas = 0;

/** A schema that no other scene uses. */
export const ownSchema = (): string => `scene_${(schemas += 1)}`;

/** An application with these sagas. The options are those of SagaModule; `url` is the database's. */
export async function open(
  providers: Provider[],
  { url = URL, ...options }: SagaModuleOptions & { url?: string },
  imports: NonNullable<ModuleMetadata['imports']> = [],
): Promise<App> {
  const database = options.database
    ? []
    : [TypeOrmModule.forRoot({ type: 'postgres', url, retryAttempts: 0, poolSize: 8 })];
  @Module({ imports: [...database, SagaModule.forRoot(options), ...imports], providers })
  class AppModule {}
  const app = await NestFactory.createApplicationContext(AppModule, { logger: false });
  return {
    sagas: app.get(SagaService),
    operations: app.get(SagaOperations),
    schedules: app.get(SagaSchedules),
    shards: app.get(SagaShards),
    get: (type) => app.get(type, { strict: false }),
    close: () => app.close(),
  };
}

/** On a connection beside those of the applications. */
export async function sql<Row extends object = Record<string, unknown>>(
  text: string,
  values: unknown[] = [],
  url = URL,
): Promise<Row[]> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return (await client.query<Row>(text, values)).rows;
  } finally {
    await client.end();
  }
}
