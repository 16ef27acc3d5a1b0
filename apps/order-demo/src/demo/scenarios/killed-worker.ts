import assert from 'node:assert/strict';
import { type Json, narrate, type SagaTimeline, short, until } from 'demo-support';
import { endsAs, settlesAs } from '../expectations.js';
import { type Scenario, someOrder } from '../scenario.js';
import { LEASE } from '../demo-environment.js';

type SagaEvent = Json<SagaTimeline>['events'][number];

export const killedWorker: Scenario = {
  title: 'A worker is killed in the middle of charging: another finishes, and the card is charged once',
  async play(stage) {
    const { orders } = stage;
    // The first charge only: the bank takes the money at once, and is slow to say so.
    await orders.break('payment', { mode: 'slow', operation: 'charge', delay: 60_000, times: 1 });
    const order = await orders.place(someOrder({ quantity: 4 }));
    narrate(`order ${short(order.id)}, while the bank is slow`);
    await until('the bank has charged the card', async () => (await orders.ledger(order.id)).length > 0);
    const { heldBy, events } = await orders.saga(order.id);
    assert(!events.some(isCharged), 'No answer should have been recorded yet');
    const victim = stage.workerCalled(heldBy);
    await victim.kill();
    narrate(`the bank has the money, ${victim.name} waits for its answer: kill -9 ${victim.pid}`);
    narrate(
      `its lease runs out (${LEASE} here, to be short; 30 s by default), and the other worker takes over`,
    );
    const { events: all } = await settlesAs(stage, order.id, 'completed');
    const charge = all.find(isCharged);
    assert.equal(charge?.attempt, 2, 'The card should have been asked for twice, with one idempotency key');
    const ledger = await orders.ledger(order.id);
    assert.deepEqual(
      ledger.map(({ amount }) => amount),
      [order.amount],
      'The card should have been charged once',
    );
    narrate('the bank was asked twice with one idempotency key, and charged once');
    return endsAs(stage, order.id, 'confirmed');
  },
};

/** Only a completed step has a duration. */
function isCharged(event: SagaEvent): boolean {
  return event.step === 'chargeCard' && 'durationMs' in event;
}
