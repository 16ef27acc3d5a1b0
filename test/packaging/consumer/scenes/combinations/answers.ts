import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { Kysely, PostgresDialect, type Transaction } from 'kysely';
import pg from 'pg';
import { Saga, type SagaHandle, Step, type TransactionalStepContext } from 'nestjs-durable-saga';
import { kyselyDatabase } from 'nestjs-durable-saga/kysely';
import { open, ownSchema, sql, URL as DATABASE } from './app.js';
import { Wire } from './wire.js';

const calls: string[] = [];

@Saga({ name: 'once' })
class OnceSaga {
  @Step({ idempotent: false, compensate: 'refund' })
  async charge(): Promise<{ id: string }> {
    calls.push('charge');
    await sleep(300);
    return { id: 'ch_1' };
  }
  refund(): void {
    calls.push('refund');
  }
  @Step() ship(): void {}
}

/** Steps that have returned are never undone because of an answer of the server, whatever it is. */
export async function unknownAnswersUndoNothing(): Promise<void> {
  const wire = await Wire.before(DATABASE);
  const { sagas, close } = await open([OnceSaga], { schema: ownSchema(), url: wire.url });
  const codes = ['XX000', '25P04', '28P01', '58030', '53400', '57P04'];
  for (const code of codes) {
    const handle: SagaHandle<OnceSaga> = await sagas.start(OnceSaga, undefined);
    await sleep(100);
    wire.answerNext('checkpoint', { code, message: 'an answer that is on no list', fatal: true });
    const { status } = await handle.outcome({ timeout: '30s' });
    assert.deepEqual([code, status], [code, 'completed']);
  }
  assert.ok(wire.answered > 0);
  assert.deepEqual(
    calls,
    codes.map(() => 'charge'),
  );
  await close();
  wire.close();
}

@Saga({ name: 'plain' })
class PlainSaga {
  @Step() work(): void {}
}

/** Connections that lead to a reader are closed, and are not used again. */
export async function readersAreLeft(): Promise<void> {
  const wire = await Wire.before(DATABASE);
  const { sagas, close } = await open([PlainSaga], {
    schema: ownSchema(),
    url: wire.url,
    worker: { pollInterval: '200ms' },
  });
  await (await sagas.start(PlainSaga, undefined)).outcome({ timeout: '20s' });
  wire.becomeReader();
  const later = await sagas.start(PlainSaga, undefined, { delay: 500 });
  assert.equal((await later.outcome({ timeout: '30s' })).status, 'completed');
  await close();
  wire.close();
}

type Tables = Record<string, Record<string, unknown>>;
type Context = TransactionalStepContext<unknown, BookSaga, Transaction<Tables>>;

@Saga({ name: 'book' })
class BookSaga {
  @Step({ transactional: true })
  async book({ transaction, sagaId }: Context): Promise<void> {
    await transaction.insertInto('booking_of_scenes').values({ saga: sagaId }).execute();
  }
}

/** A transactional step of a database layer works behind a pooler, which invents the ids of the server's processes. */
export async function transactionsBehindAPooler(): Promise<void> {
  await sql('CREATE TABLE booking_of_scenes (saga uuid)');
  const wire = await Wire.before(DATABASE, true);
  const pool = new pg.Pool({ connectionString: wire.url, max: 8 });
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });
  const { sagas, close } = await open([BookSaga], {
    schema: ownSchema(),
    database: kyselyDatabase(db, pool),
  });
  const handle = await sagas.start(BookSaga, undefined);
  assert.equal((await handle.outcome({ timeout: '20s' })).status, 'completed');
  assert.deepEqual(await sql('SELECT saga FROM booking_of_scenes'), [{ saga: handle.id }]);
  await close();
  await db.destroy();
  wire.close();
}
