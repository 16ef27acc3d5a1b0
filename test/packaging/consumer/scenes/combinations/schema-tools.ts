import assert from 'node:assert/strict';
import { EntitySchema, MikroORM } from '@mikro-orm/postgresql';
import { Saga, WaitFor } from 'nestjs-durable-saga';
import { mikroOrmDatabase } from 'nestjs-durable-saga/mikro-orm';
import { eventually } from '../eventually.js';
import { open, PRIMARY, sql } from './app.js';

const stock = new EntitySchema<{ sku: string }>({
  name: 'Stock',
  properties: { sku: { type: 'string', primary: true } },
});

@Saga({ name: 'paying' })
class PayingSaga {
  @WaitFor({ signal: 'paid' }) paid(): void {}
}

/** The schema tools of MikroORM leave the tables of sagas alone. Otherwise, the application does not start. */
export async function schemaToolsLeaveSagas(): Promise<void> {
  // The tools manage all schemas of a database.
  await sql('CREATE DATABASE schema_tools', [], PRIMARY);
  const clientUrl = PRIMARY.replace(/\/\w+$/, '/schema_tools');
  const connect = (ignoreSchema: string[] = []) =>
    MikroORM.init({
      ...{ clientUrl, entities: [stock], schemaGenerator: { ignoreSchema } },
      discovery: { disableDynamicFileAccess: true },
    });
  const start = (orm: MikroORM) => open([PayingSaga], { database: mikroOrmDatabase(orm) });
  const careless = await connect();
  await assert.rejects(start(careless), { code: 'SAGA_CONFIGURATION', message: /ignoreSchema: \['saga'\]/ });
  await careless.close();
  const orm = await connect(['saga']);
  const { sagas, close } = await start(orm);
  const { id } = await sagas.start(PayingSaga, undefined);
  await eventually(async () => assert.equal((await sagas.get(id)).waitingFor?.kind, 'signal'));
  // What `migration:create` writes into a migration.
  assert.doesNotMatch(await orm.schema.getUpdateSchemaSQL(), /saga/);
  await orm.schema.updateSchema();
  await sagas.signal(id, 'paid');
  assert.equal((await sagas.wait(id, { timeout: '20s' })).status, 'completed');
  await close();
  await orm.close();
}
