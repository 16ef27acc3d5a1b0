import { Saga, Step, SubSaga, WaitFor, type StepContext } from '../../../libs/saga/src/index.js';
import { ShardApps } from '../../support/shard-apps.js';

interface Order {
  readonly region?: string;
}

@Saga({ name: 'shipment' })
class ShipmentSaga {
  @Step() send() {
    return 'sent';
  }
}

@Saga({ name: 'order' })
class OrderSaga {
  @Step() reserve({ input }: StepContext<Order>) {
    return input.region ?? 'any';
  }
  @SubSaga(() => ShipmentSaga) ship() {
    return {};
  }
}

@Saga({ name: 'payment' })
class PaymentSaga {
  @WaitFor({ signal: 'paid' }) paid(_ctx: StepContext<Order>, amount: number) {
    return amount;
  }
}

const sagas = [OrderSaga, ShipmentSaga, PaymentSaga];

describe('sagas of an application with shards', () => {
  const apps = ShardApps.over('eu', 'us');

  test('are spread over the shards, run there with their sub-sagas, and are found by their ids', async () => {
    const app = await apps.start({ sagas });
    const handles = await Promise.all(Array.from({ length: 40 }, () => app.sagas.start(OrderSaga, {})));
    for (const handle of handles) expect((await handle.outcome()).status).toBe('completed');
    const on = { eu: await apps.idsOn('eu'), us: await apps.idsOn('us') };
    // Each with its sub-saga.
    expect(on.eu.length + on.us.length).toBe(80);
    expect(Math.min(on.eu.length, on.us.length)).toBeGreaterThan(0);
    for (const ids of [on.eu, on.us]) expect(new Set(ids.map((id) => id.slice(-4))).size).toBe(1);
    for (const { id } of handles) expect((await app.sagas.get(id)).id).toBe(id);
  });
});
