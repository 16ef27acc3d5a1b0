import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { Saga, Step } from 'nestjs-durable-saga';
import { AesGcmCodec } from 'nestjs-durable-saga/encryption';
import { open, ownSchema, sql } from './app.js';
import { eventually } from '../eventually.js';

const SECRET = 'DE02120300000000202051';

@Saga({ name: 'charge', retry: { attempts: 5, delay: 20 } })
class ChargeSaga {
  @Step({ compensate: 'giveBack', compensationRetry: { attempts: 3, delay: 20 } }) reserve(): void {}
  giveBack(): void {
    throw new Error(`no account ${SECRET}`);
  }
  @Step() charge(): void {
    throw new Error(`refused ${SECRET}`);
  }
}

/** With a codec, no error, reason or value is stored in clear, however often it repeats. */
export async function repeatedErrorsAreEncoded(): Promise<void> {
  const schema = ownSchema();
  const codec = new AesGcmCodec({ keys: { k1: randomBytes(32) }, current: 'k1' });
  const { sagas, operations, close } = await open([ChargeSaga], { schema, codec });
  const { id } = await sagas.start(ChargeSaga, { iban: SECRET });
  const seen = async () => {
    for (const { name } of await sql<{ name: string }>(
      `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = $1 AND table_type = 'BASE TABLE'`,
      [schema],
    )) {
      const rows = await sql<{ row: string }>(`SELECT t::text AS row FROM "${schema}"."${name}" t`);
      const clear = rows.filter(({ row }) => row.includes(SECRET));
      assert.deepEqual(clear, [], name);
    }
  };
  await eventually(async () => {
    await seen();
    assert.equal((await sagas.get(id)).status, 'stuck');
  });
  await operations.pauseStep('charge', 'charge', { by: 'ann', reason: `because of ${SECRET}` });
  await seen();
  await close();
}
