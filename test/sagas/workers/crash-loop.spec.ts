import { PostgresSagaStore } from '../../../libs/saga/src/store/postgres/postgres-saga-store.js';
import { sqlOf } from '../../../libs/saga/src/store/postgres/typeorm/typeorm-database.js';
import { OrderScene } from '../../support/order-scene.js';
import { until } from '../../support/gate.js';
import { TestApps } from '../../support/test-app.js';

const apps = TestApps.onOwnDatabase();
const MAX_TAKEOVERS = 5;

test('workers that are lost again and again leave every saga that they held to an operator, started or not; one bulk retry lets all go on', async () => {
  const scene = new OrderScene();
  scene.charge.open('charged');
  const web = await apps.start({ sagas: [scene.saga], options: { worker: false } });
  const orders = await Promise.all([1, 2, 3].map((n) => web.sagas.start(scene.saga, { n })));
  const sql = sqlOf(web.dataSource);
  const store = new PostgresSagaStore(sql, 'saga');
  /** Takes all that is due, and dies before it begins a step. */
  const crash = async (n: number): Promise<void> => {
    const lease = { worker: `crashed-${n}`, duration: 1 };
    const claim = () => store.claim({ lease, sagas: [{ name: 'order', version: 1 }], limit: 10 });
    let held = 0;
    await until(async () => (held += (await claim()).sagas.length) >= orders.length);
  };
  for (let n = 0; n <= MAX_TAKEOVERS; n += 1) await crash(n);

  const { sagas, operations } = await apps.start({ sagas: [scene.saga] });
  for (const { id } of orders) expect((await sagas.wait(id)).status).toBe('stuck');
  expect(scene.ran).toEqual([]);

  const retried = await operations.bulk('retry', { status: 'stuck' }, { reason: 'the image is fixed' });
  expect(retried).toMatchObject({ done: 3 });
  for (const { id } of orders) {
    await until(async () => (await sagas.get(id)).status === 'completed');
  }
});
