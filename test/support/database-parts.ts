import type { INestApplicationContext } from '@nestjs/common';
import type { DatabaseServices, DatabaseRuntime } from '../../libs/saga/src/nest/database-runtime.js';
import { SagaRuntime } from '../../libs/saga/src/nest/saga.runtime.js';

/** What an application without shards uses of its database. */
export async function databaseParts(nest: INestApplicationContext): Promise<DatabaseServices> {
  const { process } = await nest.get(SagaRuntime, { strict: false }).ready();
  return (process as DatabaseRuntime).parts;
}
