import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { Saga, Step, WaitFor } from 'nestjs-durable-saga';
import { open, ownSchema } from './app.js';
import { eventually } from '../eventually.js';

const charged: string[] = [];

@Saga({ name: 'renew' })
class RenewSaga {
  @Step()
  charge(ctx: { readonly sagaId: string }): void {
    charged.push(ctx.sagaId);
  }
}

/** A saga that starts tomorrow starts tomorrow, whatever operators pause and resume meanwhile. */
export async function resumeKeepsTheStartTime(): Promise<void> {
  const { sagas, operations, close } = await open([RenewSaga], { schema: ownSchema() });
  const by = { by: 'ann', reason: 'payments are down' };
  const tomorrow = await sagas.start(RenewSaga, undefined, { delay: '24h' });
  const other = await sagas.start(RenewSaga, undefined, { delay: '24h' });
  await operations.pauseStep('renew', 'charge', by);
  await operations.resumeStep('renew', 'charge', by);
  await operations.pause(other.id, by);
  await eventually(async () => assert.equal((await sagas.get(other.id)).status, 'paused'));
  await operations.resume(other.id, by);
  const now = await sagas.start(RenewSaga, undefined);
  assert.equal((await now.outcome({ timeout: '20s' })).status, 'completed');
  await sleep(1_500);
  assert.deepEqual(charged, [now.id]);
  for (const { id } of [tomorrow, other]) {
    const { status, waitingFor } = await sagas.get(id);
    assert.deepEqual([status, waitingFor?.kind], ['running', 'delay']);
  }
  await close();
}

@Saga({ name: 'order' })
class PaidSaga {
  @Step() request(): void {}
  @WaitFor({ signal: 'paid' }) paid(_: object, payload: number): number {
    return payload;
  }
}

@Saga({ name: 'order' })
class RenamedSaga {
  @Step() request(): void {}
  @WaitFor({ signal: 'payment-received' }) paid(_: object, payload: number): number {
    return payload;
  }
}

/** A running instance is signalled by the name of its own graph, and by no other. */
export async function renamedSignal(): Promise<void> {
  const schema = ownSchema();
  const before = await open([PaidSaga], { schema });
  const { id } = await before.sagas.start(PaidSaga, undefined);
  await eventually(async () => assert.equal((await before.sagas.get(id)).waitingFor?.kind, 'signal'));
  await before.close();
  const { sagas, close } = await open([RenamedSaga], { schema, onDrift: 'warn' });
  await assert.rejects(sagas.signal(id, 'payment-received', 1), { code: 'SAGA_VALIDATION' });
  await sagas.signal(id, 'paid', 1);
  await eventually(async () => assert.equal((await sagas.get(id)).status, 'completed'));
  await close();
}
