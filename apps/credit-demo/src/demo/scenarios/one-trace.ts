import assert from 'node:assert/strict';
import { narrate, paint } from 'demo-support';
import { settlesAs } from '../expectations.js';
import { type Scenario, someOrder } from '../scenario.js';

export const oneTrace: Scenario = {
  title: 'One trace id over all hops',
  async play(stage) {
    await stage.customers.put('donald', 50_000);
    const { id } = await stage.orders.place(someOrder('donald', 10_000));
    const { sagaId } = await settlesAs(stage, id, 'approved');
    const hops = (
      await Promise.all(
        (['customers', 'payments', 'orders'] as const).map(async (service) =>
          (await stage[service].hops(id)).map((hop) => ({ service, ...hop })),
        ),
      )
    ).flat();
    for (const { service, type, traceparent } of hops)
      console.log(`   ${paint('dim', service.padStart(9))}  ${type.padEnd(15)} ${traceparent}`);
    assert.deepEqual(
      hops.map(({ type }) => type).toSorted(),
      ['credit-reply', 'payment-reply', 'request-payment', 'reserve-credit'],
      'Every message should have been seen once',
    );
    const [traces, spans] = [1, 2].map((part) =>
      hops.map(({ traceparent }) => traceparent?.split('-')[part]),
    );
    assert.deepEqual(
      new Set(traces),
      new Set([sagaId.replaceAll('-', '')]),
      "Every hop should carry the saga's trace",
    );
    assert.equal(new Set(spans).size, hops.length, 'Every message should be a span of its own');
    narrate("the trace id is the saga's id, in both directions");
  },
};
