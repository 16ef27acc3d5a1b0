import { SagaTest } from 'nestjs-durable-saga/testing';
import { Gate, until } from '../../../test/support/gate.js';
import { LiveOrderSaga, liveOrderOf, LiveOrdersModule, Warehouse } from './live-orders.js';
import { RecipeApps } from './recipe-apps.js';

const apps = RecipeApps.onOwnDatabase();
const order = { id: 'order-1', sku: 'tea' };

test('the events are the states of the order, until it has ended', async () => {
  const { nest, sagas, url } = await apps.start({ module: { imports: [LiveOrdersModule] } });
  const [reserving, packing] = [new Gate(), new Gate()];
  const warehouse = nest.get(Warehouse);
  warehouse.reserve = () => reserving.opened;
  warehouse.pack = async (_, packed) => {
    packed(1, 4);
    await packing.opened;
  };
  expect((await fetch(`${url}/live-orders/none/events`)).status).toBe(404);
  expect(await (await fetch(`${url}/live-orders/order-1`)).text()).toContain('EventSource');
  await sagas.start(LiveOrderSaga, order, { correlationId: order.id });
  const response = await fetch(`${url}/live-orders/order-1/events`);
  expect(response.headers.get('content-type')).toBe('text/event-stream');
  let text = '';
  const read = (async () => {
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) text += chunk;
  })();
  await until(() => text.includes('"state":"in progress"'));
  reserving.open();
  await until(() => text.includes('"state":"packing","percent":25'));
  packing.open();
  await read;
  expect(text.trim().split('\n').at(-1)).toBe('data: {"state":"confirmed","final":true}');
  expect(text).not.toContain('reserve');
});

test('an order that failed is cancelled, whatever the reason', async () => {
  const { snapshot } = await SagaTest.of(LiveOrderSaga).providers(Warehouse).failing('pack').run(order);
  expect(liveOrderOf(snapshot)).toEqual({ state: 'cancelled', final: true });
});
