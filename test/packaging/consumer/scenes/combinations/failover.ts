import assert from 'node:assert/strict';
import { Saga, Step } from 'nestjs-durable-saga';
import { eventually } from '../eventually.js';
import { open, ownSchema, PRIMARY, sql, STANDBY } from './app.js';
import { Wire } from './wire.js';

const delivered: string[] = [];

@Saga({ name: 'deliver' })
class DeliverSaga {
  @Step() deliver(ctx: { readonly sagaId: string }): void {
    delivered.push(ctx.sagaId);
  }
}

/** A failover that loses nothing repeats no saga that was deleted before it. */
export async function deletedSagasStayDeleted(): Promise<void> {
  const wire = await Wire.before(PRIMARY);
  const { sagas, operations, close } = await open([DeliverSaga], { schema: ownSchema(), url: wire.url });
  const { id, outcome } = await sagas.start(DeliverSaga, undefined);
  await outcome();
  await eventually(async () => assert.equal((await operations.cleanup({ olderThan: '1ms' })).deleted, 1));
  const [primary] = await sql<{ at: string }>('SELECT pg_current_wal_lsn() AS at', [], PRIMARY);
  await eventually(async () => {
    const text = 'SELECT pg_last_wal_replay_lsn() >= $1 AS "hasAll"';
    const [standby] = await sql<{ hasAll: boolean }>(text, [primary!.at], STANDBY);
    assert.ok(standby!.hasAll);
  });
  await sql('SELECT pg_promote()', [], STANDBY);
  wire.leadTo(STANDBY);
  // What is put back is put back before anything else is stored.
  const later = await sagas.start(DeliverSaga, undefined);
  assert.equal((await later.outcome({ timeout: '30s' })).status, 'completed');
  await assert.rejects(sagas.get(id), { code: 'SAGA_NOT_FOUND' });
  assert.deepEqual(delivered, [id, later.id]);
  await close();
  wire.close();
}
