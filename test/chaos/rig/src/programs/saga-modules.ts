import type { DynamicModule } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { SagaModule, type SagaModuleOptions } from 'nestjs-durable-saga';
import { pgDatabase } from 'nestjs-durable-saga/pg';
import pg from 'pg';

/** Connections of a process to one database. */
export const POOL_SIZE = 10;

/** The shards of the rig: the server of the first one is never harmed. */
export const SHARDS = { kept: 'kept', lost: 'lost' } as const;

/** The sagas in one database through TypeORM, or on two shards through pg. */
export function sagaModules(
  [url, otherUrl]: readonly string[],
  worker: SagaModuleOptions['worker'],
): DynamicModule[] {
  if (otherUrl === undefined)
    return [
      TypeOrmModule.forRoot({ type: 'postgres', url, poolSize: POOL_SIZE }),
      SagaModule.forRoot({ worker }),
    ];
  const shards = { [SHARDS.kept]: databaseAt(url!), [SHARDS.lost]: databaseAt(otherUrl) };
  return [SagaModule.forRoot({ shards, worker })];
}

/** Its connections end with the process. */
function databaseAt(connectionString: string) {
  const pool = new pg.Pool({ connectionString, max: POOL_SIZE, allowExitOnIdle: true });
  pool.on('error', () => undefined);
  return pgDatabase(pool);
}
