import assert from 'node:assert/strict';
import { Saga, Step } from 'nestjs-durable-saga';
import { open, ownSchema, sql, URL as DATABASE } from './app.js';

/** The functions that say what time it is, before those of PostgreSQL in the search path of a connection. */
const SETTABLE_CLOCK = `
  CREATE SCHEMA settable;
  CREATE TABLE settable.clock AS SELECT interval '0' AS ahead;
  CREATE FUNCTION settable.now() RETURNS timestamptz STABLE LANGUAGE sql
    AS 'SELECT pg_catalog.now() + ahead FROM settable.clock';
  CREATE FUNCTION settable.clock_timestamp() RETURNS timestamptz VOLATILE LANGUAGE sql
    AS 'SELECT pg_catalog.clock_timestamp() + ahead FROM settable.clock'`;

@Saga({ name: 'hold', timeout: '30m' })
class HoldSaga {
  @Step() hold(): void {}
  @Step({ delay: 200 }) sell(): void {}
}

/** No saga times out because the clock of the database is set back. */
export async function clockIsSetBack(): Promise<void> {
  await sql(SETTABLE_CLOCK);
  const url = new URL(DATABASE);
  url.searchParams.set('options', '-c search_path=settable,public,pg_catalog');
  const { sagas, close } = await open([HoldSaga], {
    schema: ownSchema(),
    url: url.href,
    worker: { pollInterval: '200ms' },
  });
  const before = await sagas.start(HoldSaga, undefined);
  assert.equal((await before.outcome({ timeout: '20s' })).status, 'completed');
  await sql(`UPDATE settable.clock SET ahead = '-2 hours'`);
  for (const delay of [0, 300]) {
    const handle = await sagas.start(HoldSaga, undefined, { delay });
    assert.equal((await handle.outcome({ timeout: '20s' })).status, 'completed');
    const { createdAt } = await sagas.get(handle.id);
    assert.ok(createdAt.getTime() < Date.now() - 7_000_000);
  }
  await close();
}
