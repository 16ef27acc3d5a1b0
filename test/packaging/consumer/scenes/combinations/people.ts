import assert from 'node:assert/strict';
import { Approval, type ApprovalDecision, Saga, Step } from 'nestjs-durable-saga';
import { open, ownSchema } from './app.js';
import { eventually } from '../eventually.js';

let paid = 0;

@Saga({ name: 'payout' })
class PayoutSaga {
  @Approval({ quorum: 2 })
  approve(_: object, { approvals = [] }: ApprovalDecision): string[] {
    return approvals.map(({ by }) => by);
  }
  @Step() pay(): void {
    paid += 1;
  }
}

/** One operator alone cannot resolve an approval that requires two. */
export async function resolveIsADecision(): Promise<void> {
  const { sagas, operations, close } = await open([PayoutSaga], { schema: ownSchema() });
  const { id } = await sagas.start(PayoutSaga, undefined);
  await eventually(async () => assert.equal((await sagas.get(id)).waitingFor?.kind, 'approval'));
  const fin = { by: 'fin', reason: 'it is urgent' };
  await assert.rejects(operations.resolve(id, 'approve', { ...fin, result: ['fin'] }));
  await operations.resolve(id, 'approve', fin);
  await assert.rejects(operations.resolve(id, 'approve', fin));
  assert.deepEqual([(await sagas.get(id)).waitingFor?.kind, paid], ['approval', 0]);
  await close();
}
