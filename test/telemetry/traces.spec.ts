import { SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import {
  type ProbeAnswer,
  Saga,
  Step,
  type StepContext,
  StepRejectedError,
  UnknownOutcomeError,
} from '../../libs/saga/src/index.js';
import { SagaTelemetryModule } from '../../libs/telemetry/src/index.js';
import { Gate } from '../support/gate.js';
import { TestApps } from '../support/test-app.js';
import { OrderSaga } from './support/order-saga.js';
import { RecordedSpans } from './support/recorded-spans.js';

const apps = TestApps.onOwnDatabase();
const spans = RecordedSpans.ofThisFile();
const imports = [SagaTelemetryModule.forRoot({ metrics: false, gauges: false })];

describe("a saga's spans", () => {
  test('are one of its start, one of each attempt, and one of itself, in the trace of who started it', async () => {
    const { sagas } = await apps.start({ sagas: [OrderSaga], imports });
    const order = await spans.inSpan('POST /orders', () =>
      sagas.start(OrderSaga, {}, { correlationId: '1234' }),
    );
    await order.outcome();
    const [request, start] = [spans.one('POST /orders'), spans.one('start order')];
    const [saga, reserve] = [spans.one('saga order'), spans.one('step order.reserve')];
    expect(spans.names.sort()).toEqual([
      'POST /orders',
      'saga order',
      'start order',
      'step order.charge',
      'step order.reserve',
    ]);
    expect(new Set(spans.all.map((span) => span.spanContext().traceId)).size).toBe(1);
    expect(start.parentSpanContext?.spanId).toBe(request.spanContext().spanId);
    for (const span of [saga, reserve, spans.one('step order.charge')])
      expect(span.parentSpanContext).toMatchObject({ spanId: start.spanContext().spanId, isRemote: true });
    const identity = {
      ...{ 'saga.name': 'order', 'saga.version': 1, 'saga.id': order.id, 'saga.correlation_id': '1234' },
    };
    expect(start).toMatchObject({
      kind: SpanKind.PRODUCER,
      attributes: { ...identity, 'saga.created': true },
    });
    expect(saga).toMatchObject({
      kind: SpanKind.INTERNAL,
      attributes: { ...identity, 'saga.status': 'completed' },
    });
    expect(reserve).toMatchObject({
      kind: SpanKind.CONSUMER,
      attributes: {
        ...identity,
        ...{ 'saga.step.name': 'reserve', 'saga.step.kind': 'run', 'saga.step.attempt': 1 },
        ...{ 'saga.step.outcome': 'completed', 'code.function.name': 'reserve' },
      },
    });
    expect(saga.status.code).toBe(SpanStatusCode.UNSET);
    const { createdAt, finishedAt } = await sagas.get(order.id);
    expect(saga.startTime[0]).toBe(Math.floor(createdAt.getTime() / 1_000));
    expect(saga.endTime[0]).toBeLessThanOrEqual(Math.ceil(finishedAt!.getTime() / 1_000) + 1);
  });

  test('show each attempt that failed with its error, the compensations, and why the saga rolled back', async () => {
    const { sagas } = await apps.start({ sagas: [OrderSaga], imports });
    await (await sagas.start(OrderSaga, { declined: 'no funds' })).outcome();
    const charges = spans.all.filter(({ name }) => name === 'step order.charge');
    expect(charges.map(({ attributes }) => attributes['saga.step.attempt'])).toEqual([1, 2]);
    for (const charge of charges) {
      expect(charge.status).toEqual({ code: SpanStatusCode.ERROR, message: 'no funds' });
      expect(charge.attributes).toMatchObject({ 'error.type': 'TypeError', 'saga.step.outcome': 'failed' });
      expect(charge.events).toMatchObject([
        { name: 'exception', attributes: { 'exception.type': 'TypeError', 'exception.message': 'no funds' } },
      ]);
    }
    const release = spans.one('compensate order.reserve');
    expect(release.attributes).toMatchObject({
      'saga.step.kind': 'compensate',
      'code.function.name': 'release',
    });
    expect(release.status.code).toBe(SpanStatusCode.UNSET);
    expect(spans.one('saga order')).toMatchObject({
      attributes: { 'saga.status': 'compensated', 'error.type': 'TypeError' },
      status: { code: SpanStatusCode.ERROR, message: 'no funds' },
    });
  });

  test('end with no error when the saga was cancelled', async () => {
    const [inside, goOn] = [new Gate(), new Gate()];
    @Saga({ name: 'slow' })
    class Slow {
      @Step() async act() {
        inside.open();
        await goOn.opened;
      }
      @Step() never() {}
    }
    const { sagas } = await apps.start({ sagas: [Slow], imports });
    const slow = await sagas.start(Slow, undefined);
    await inside.opened;
    await sagas.cancel(slow.id, { reason: 'changed my mind' });
    goOn.open();
    await slow.outcome();
    const saga = spans.one('saga slow');
    expect(saga.attributes['saga.status']).toBe('compensated');
    expect(saga.status.code).toBe(SpanStatusCode.UNSET);
  });

  test('are a trace of their own where none is active', async () => {
    const { sagas } = await apps.start({ sagas: [OrderSaga], imports });
    await (await sagas.start(OrderSaga, {})).outcome();
    expect(spans.one('start order').parentSpanContext).toBeUndefined();
    expect(new Set(spans.all.map((span) => span.spanContext().traceId)).size).toBe(1);
  });

  test('are not kept if the sampler rejects the trace, and no downstream service is asked to keep it', async () => {
    spans.sampleNothing();
    @Saga({ name: 'publishing' })
    class Publishing {
      @Step() tell(ctx: StepContext) {
        ctx.publish({ topic: 'orders', payload: {} });
      }
    }
    const { sagas } = await apps.start({ sagas: [Publishing], imports });
    const { id, outcome } = await sagas.start(Publishing, undefined);
    await outcome();
    expect(spans.names).toEqual([]);
    const { traceparent } = (await sagas.get(id)).tags;
    expect(traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/);
    const [row] = await apps.sql<{ headers: { traceparent: string } }>('SELECT headers FROM saga.outbox');
    expect(row!.headers.traceparent.slice(3, 35)).toBe(traceparent!.slice(3, 35));
    expect(row!.headers.traceparent).toMatch(/-00$/);
  });

  test('of a start that finds the saga there already name that one, and start nothing', async () => {
    const { sagas } = await apps.start({ sagas: [OrderSaga], imports });
    const first = await sagas.start(OrderSaga, {}, { correlationId: '1234' });
    await first.outcome();
    const before = spans.all.length;
    await sagas.start(OrderSaga, {}, { correlationId: '1234' });
    const [again, ...others] = spans.all.slice(before);
    expect(others).toEqual([]);
    expect(again!.attributes).toMatchObject({ 'saga.id': first.id, 'saga.created': false });
  });

  test('of a start that is refused show the error', async () => {
    const { sagas } = await apps.start({ sagas: [OrderSaga], imports });
    await sagas.start(OrderSaga, {}, { correlationId: '1234' });
    const manager = { query: () => Promise.reject(new Error('current transaction is aborted')) };
    await expect(sagas.start(OrderSaga, {}, { manager: manager as never })).rejects.toThrow('aborted');
    const failed = spans.all.filter(
      ({ name, status }) => name === 'start order' && status.code === SpanStatusCode.ERROR,
    );
    expect(failed).toMatchObject([{ status: { message: 'current transaction is aborted' } }]);
  });
});

describe("a step's method", () => {
  test('runs within the span of its attempt, and so does a transactional one, a compensation and a probe', async () => {
    const here = (name: string) => trace.getTracer('driver').startSpan(name).end();
    @Saga({ name: 'order' })
    class Order {
      @Step({ compensate: 'release' }) async reserve() {
        await Promise.resolve();
        here('GET /stock');
      }
      release() {
        here('DELETE /stock');
      }
      @Step({ transactional: true }) book() {
        here('INSERT booking');
      }
      @Step({ probe: 'look', retry: { attempts: 1 } }) charge() {
        here('POST /charges');
        throw new UnknownOutcomeError('504');
      }
      look(): ProbeAnswer<void> {
        here('GET /charges');
        return 'not-done';
      }
    }
    const { sagas } = await apps.start({ sagas: [Order], imports });
    await (await sagas.start(Order, undefined)).outcome();
    const parentOf = (name: string) => {
      const { spanId } = spans.one(name).parentSpanContext!;
      return spans.all.find((span) => span.spanContext().spanId === spanId)?.name;
    };
    expect(parentOf('GET /stock')).toBe('step order.reserve');
    expect(parentOf('INSERT booking')).toBe('step order.book');
    expect(parentOf('POST /charges')).toBe('step order.charge');
    expect(parentOf('GET /charges')).toBe('probe order.charge');
    expect(parentOf('DELETE /stock')).toBe('compensate order.reserve');
  });

  test('of an item of a fan-out has a span that says which', async () => {
    @Saga({ name: 'parcels' })
    class Parcels {
      @Step({ forEach: () => ['a', 'b'], itemsAtOnce: 1 }) send() {}
    }
    const { sagas } = await apps.start({ sagas: [Parcels], imports });
    await (await sagas.start(Parcels, undefined)).outcome();
    const sends = spans.all.filter(({ name }) => name === 'step parcels.send');
    expect(sends.map(({ attributes }) => attributes['saga.step.index'])).toEqual([0, 1]);
  });

  test('that rejects says so', async () => {
    @Saga({ name: 'order' })
    class Order {
      @Step() charge() {
        throw new StepRejectedError('declined');
      }
    }
    const { sagas } = await apps.start({ sagas: [Order], imports });
    await (await sagas.start(Order, undefined)).outcome();
    expect(spans.one('step order.charge').attributes['saga.step.outcome']).toBe('rejected');
  });
});
