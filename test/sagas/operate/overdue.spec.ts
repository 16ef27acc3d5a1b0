import { Injectable } from '@nestjs/common';
import { type ObservedEvent, OnSagaEvent, Saga, Step } from '../../../libs/saga/src/index.js';
import { Gate, until } from '../../support/gate.js';
import { TestApps } from '../../support/test-app.js';

const apps = TestApps.onOwnDatabase();

/** An order that is to be done within a second, and takes as long as the test wants. */
function scene() {
  const received: ObservedEvent<'overdue'>[] = [];
  const goOn = new Gate();
  @Saga({ name: 'order', sla: '1s' })
  class Order {
    @Step() ship() {
      return goOn.opened;
    }
  }
  @Injectable()
  class Alarm {
    @OnSagaEvent('overdue') overdue(event: ObservedEvent<'overdue'>) {
      received.push(event);
    }
  }
  return { Order, Alarm, received, goOn };
}
const OFTEN = { worker: { pollInterval: '20ms' } } as const;

test('a saga that has not finished by its sla is reported once, whichever process runs it', async () => {
  const { Order, Alarm, received, goOn } = scene();
  const [one, other] = [
    await apps.start({ sagas: [Order], providers: [Alarm], options: OFTEN }),
    await apps.start({ sagas: [Order], providers: [Alarm], options: OFTEN }),
  ];
  const { id, outcome } = await one.sagas.start(Order, {}, { correlationId: 'order-1' });
  expect(await one.sagas.get(id)).toMatchObject({ overdue: false, slaAt: expect.any(Date) });
  await until(() => received.length > 0);
  expect(received[0]).toMatchObject({ type: 'overdue', saga: 'order', id, correlationId: 'order-1' });
  expect((await other.sagas.get(id)).overdue).toBe(true);
  expect((await other.operations.stats()).overdue).toBe(1);
  goOn.open();
  expect((await outcome()).status).toBe('completed');
  await one.close();
  await other.close();
  expect(received).toHaveLength(1);
});

test('a saga is shown as overdue from the moment that its sla is over, before any worker has noticed', async () => {
  const { Order, goOn } = scene();
  const { sagas } = await apps.start({ sagas: [Order], options: { worker: false } });
  const { id } = await sagas.start(Order, {});
  expect((await sagas.get(id)).overdue).toBe(false);
  await apps.sql(`UPDATE saga.instance SET sla_at = now() - interval '1 minute'`);
  expect((await sagas.get(id)).overdue).toBe(true);
  goOn.open();
  await apps.sql(`UPDATE saga.instance SET status = 'completed', finished_at = sla_at + interval '1 second'`);
  expect((await sagas.get(id)).overdue).toBe(true);
  await apps.sql(`UPDATE saga.instance SET finished_at = sla_at - interval '1 second'`);
  expect((await sagas.get(id)).overdue).toBe(false);
});

test('one that is done in time never is', async () => {
  const { Order, Alarm, received, goOn } = scene();
  goOn.open();
  const { sagas } = await apps.start({ sagas: [Order], providers: [Alarm], options: OFTEN });
  const { outcome } = await sagas.start(Order, {});
  await outcome();
  // A saga that is not paused is reported. By then the other would have been reported, too.
  const late = await sagas.start(Order, {}, { delay: '1ms' });
  await late.outcome();
  await apps.sql(`UPDATE saga.instance SET sla_at = now() - interval '1h'`);
  await apps.sql(`UPDATE saga.instance SET finished_at = NULL WHERE id = $1`, [late.id]);
  await until(() => received.length > 0);
  expect(received.map(({ id }) => id)).toEqual([late.id]);
});

test.each([
  ['soon', 'sla'],
  [0, 'would make every saga overdue at once'],
])('an sla of %p is refused at start-up', async (sla, message) => {
  @Saga({ name: 'order', sla: sla as never })
  class Order {
    @Step() ship() {}
  }
  await expect(apps.start({ sagas: [Order] })).rejects.toThrow(message);
});
