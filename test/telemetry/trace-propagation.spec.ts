import {
  type CompensationContext,
  type HandlerContext,
  RemoteStep,
  type RemoteInput,
  Saga,
  Step,
  type StepContext,
  StepHandler,
  StepRejectedError,
  SubSaga,
} from '../../libs/saga/src/index.js';
import { traceOfSaga } from '../../libs/saga/src/engine/observe/trace-context.js';
import { SagaTelemetryModule } from '../../libs/telemetry/src/index.js';
import { Gate, until } from '../support/gate.js';
import { TestApps } from '../support/test-app.js';
import { OrderSaga } from './support/order-saga.js';
import { RecordedSpans, traceparentOf } from './support/recorded-spans.js';

const apps = TestApps.onOwnDatabase();
const spans = RecordedSpans.ofThisFile();
const imports = [SagaTelemetryModule.forRoot({ metrics: false, gauges: false })];

describe("the starter's trace goes on", () => {
  test('in another application, once the first one has stopped in the middle of a step', async () => {
    const inside = new Gate();
    let hangs = true;
    @Saga({ name: 'order' })
    class Order {
      @Step({ compensate: 'release' }) reserve() {}
      release() {}
      @Step({ compensate: 'refund' }) async charge({ signal }: StepContext) {
        inside.open();
        if (hangs) await new Promise((_, reject) => signal.addEventListener('abort', reject));
      }
      refund(_ctx: CompensationContext) {}
    }
    const options = { worker: { shutdownTimeout: 0 } };
    const first = await apps.start({ sagas: [Order], imports, options });
    const order = await spans.inSpan('POST /orders', () => first.sagas.start(Order, undefined));
    await inside.opened;
    await first.close();
    hangs = false;
    const second = await apps.start({ sagas: [Order], imports });
    expect((await second.sagas.wait(order.id)).status).toBe('completed');
    const request = spans.one('POST /orders').spanContext();
    const start = spans.one('start order').spanContext();
    const attempts = spans.all.filter(({ name }) => name.startsWith('step '));
    expect(
      attempts.map(({ name, attributes }) => `${name} ${attributes['saga.step.outcome'] as string}`),
    ).toEqual([
      'step order.reserve completed',
      'step order.charge interrupted',
      'step order.charge completed',
    ]);
    for (const span of [...attempts, spans.one('saga order')]) {
      expect(span.spanContext().traceId).toBe(request.traceId);
      expect(span.parentSpanContext?.spanId).toBe(start.spanId);
    }
  });

  test('after its worker is lost, with a mark on the attempts that follow', async () => {
    const inside = new Gate();
    let hangs = true;
    @Saga({ name: 'order' })
    class Order {
      @Step() async charge({ signal }: StepContext) {
        inside.open();
        if (hangs) await new Promise((_, reject) => signal.addEventListener('abort', reject));
      }
    }
    const options = { worker: { shutdownTimeout: 0 } };
    const first = await apps.start({ sagas: [Order], imports, options });
    const order = await spans.inSpan('POST /orders', () => first.sagas.start(Order, undefined));
    await inside.opened;
    hangs = false;
    const second = await apps.start({ sagas: [Order], imports, options: { worker: { pollInterval: 20 } } });
    await apps.sql(
      `UPDATE saga.instance SET locked_by = 'lost', epoch = epoch + 1, due_at = now(), rank_at = now()`,
    );
    await second.sagas.wait(order.id);
    const again = spans.all.find(({ attributes }) => attributes['saga.step.attempt'] === 2)!;
    expect(again.attributes).toMatchObject({ 'saga.takeovers': 1, 'saga.step.outcome': 'completed' });
    expect(again.spanContext().traceId).toBe(spans.one('POST /orders').spanContext().traceId);
  });

  test('where another process runs what this one only starts, also within a transaction of its own', async () => {
    const web = await apps.start({ sagas: [OrderSaga], imports, options: { worker: false } });
    const order = await spans.inSpan('POST /orders', () =>
      web.dataSource.transaction((manager) => web.sagas.start(OrderSaga, {}, { manager })),
    );
    const worker = await apps.start({ sagas: [OrderSaga], imports });
    await worker.sagas.wait(order.id);
    const { traceId } = spans.one('POST /orders').spanContext();
    expect(spans.one('step order.reserve').spanContext().traceId).toBe(traceId);
    expect(spans.one('saga order').spanContext().traceId).toBe(traceId);
  });

  test('into the sagas that steps start, and into the handlers of other processes, below those steps', async () => {
    class Stock {
      @StepHandler('stock.reserve') reserve(_ctx: HandlerContext): void {}
    }
    @Saga({ name: 'shipment' })
    class Shipment {
      @Step() send() {}
    }
    @Saga({ name: 'order' })
    class Order {
      @RemoteStep('stock.reserve') reserve(_ctx: StepContext): RemoteInput<Stock['reserve']> {
        return undefined;
      }
      @SubSaga(() => Shipment) ship() {
        return undefined;
      }
    }
    const { sagas } = await apps.start({ sagas: [Order, Shipment], imports });
    await apps.start({ providers: [Stock], imports });
    await (await spans.inSpan('POST /orders', () => sagas.start(Order, undefined))).outcome();
    await spans.ended('saga order', 'saga shipment', 'saga handler:stock.reserve');
    expect(spans.tree().sort()).toEqual(
      [
        'POST /orders',
        '  start order',
        '    step order.reserve',
        '      step stock.reserve',
        '      saga handler:stock.reserve',
        '    step order.ship',
        '      step shipment.send',
        '      saga shipment',
        '    saga order',
      ].sort(),
    );
  });

  test('in what steps and compensations publish, below the attempt that did', async () => {
    @Saga({ name: 'order' })
    class Order {
      @Step({ compensate: 'withdraw' }) announce(ctx: StepContext) {
        ctx.publish({ topic: 'orders', type: 'announced', payload: {} });
      }
      withdraw(ctx: CompensationContext) {
        ctx.publish({ topic: 'orders', type: 'withdrawn', payload: {} });
      }
      @Step() charge() {
        throw new StepRejectedError('declined');
      }
    }
    const { sagas } = await apps.start({ sagas: [Order], imports });
    const order = await sagas.start(Order, undefined);
    await order.outcome();
    const rows = await apps.sql<{ type: string; headers: Record<string, string> }>(
      'SELECT type, headers FROM saga.outbox ORDER BY seq',
    );
    expect(rows.map(({ type, headers }) => [type, headers.traceparent])).toEqual([
      ['announced', traceparentOf(spans.one('step order.announce'))],
      ['withdrawn', traceparentOf(spans.one('compensate order.announce'))],
    ]);
  });
});

test('a saga that was started without telemetry has the trace of its messages', async () => {
  @Saga({ name: 'order' })
  class Order {
    @Step() announce(ctx: StepContext) {
      ctx.publish({ topic: 'orders', payload: {} });
    }
    @Step() ship() {}
  }
  const web = await apps.start({ sagas: [Order], options: { worker: false } });
  const order = await spans.inSpan('POST /orders', () => web.sagas.start(Order, undefined));
  expect((await web.sagas.get(order.id)).tags).toEqual({});
  const worker = await apps.start({ sagas: [Order], imports });
  await worker.sagas.wait(order.id);
  expect(spans.one('step order.ship').spanContext().traceId).toBe(traceOfSaga(order.id));
  expect(spans.one('saga order').spanContext().traceId).toBe(traceOfSaga(order.id));
});

test('a process without telemetry passes the trace on in what it publishes', async () => {
  @Saga({ name: 'order' })
  class Order {
    @Step() announce(ctx: StepContext) {
      ctx.publish({ topic: 'orders', payload: {} });
    }
  }
  const web = await apps.start({ sagas: [Order], imports, options: { worker: false } });
  const order = await spans.inSpan('POST /orders', () => web.sagas.start(Order, undefined));
  const worker = await apps.start({ sagas: [Order] });
  await worker.sagas.wait(order.id);
  const [row] = await until(() =>
    apps.sql<{ headers: Record<string, string> }>('SELECT headers FROM saga.outbox'),
  );
  expect(row!.headers.traceparent).toContain(spans.one('POST /orders').spanContext().traceId);
});
