import { Controller, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ClientProxyFactory, Transport } from '@nestjs/microservices';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { Saga, SagaModule, SagaService, Step, type StepContext, WaitFor } from '../../libs/saga/src/index.js';
import {
  DurableEvent,
  DurableMqttServer,
  Inbox,
  Incoming,
  type IncomingMessage,
  Outbox,
  SagaMessagingModule,
  SagaReply,
} from '../../libs/messaging/src/index.js';
import { SagaTelemetryModule } from '../../libs/telemetry/src/index.js';
import { until } from '../support/gate.js';
import { startMqtt } from '../messaging/support/brokers.js';
import { MessagingApps } from '../messaging/support/messaging-apps.js';
import { createTestDatabase, type TestDatabase } from '../support/test-database.js';
import { RecordedSpans } from './support/recorded-spans.js';

interface Order {
  total: number;
}

@Saga({ name: 'order' })
class OrderSaga {
  @Step() ask(ctx: StepContext<Order>): void {
    ctx.publish({ topic: 'payments.requests', type: 'Charge', payload: ctx.input });
  }
  @WaitFor({ signal: 'payment', timeout: '30s' }) paid(): void {}
}

/** The saga of the other service, which starts it for each request. */
@Saga({ name: 'payment' })
class PaymentSaga {
  @Step() charge(): void {}
}

@Controller()
class Replies {
  @SagaReply('payments.replies', { signal: 'payment' })
  reply(): void {}
}

@Controller()
class Payments {
  constructor(
    private readonly inbox: Inbox,
    private readonly outbox: Outbox,
    private readonly sagas: SagaService,
    private readonly dataSource: DataSource,
  ) {}

  @DurableEvent('payments.requests')
  async charge(@Incoming() message: IncomingMessage<Order>): Promise<void> {
    await this.inbox.once(message.id, this.dataSource.manager, async (manager) => {
      await this.sagas.start(PaymentSaga, undefined, { manager });
      await this.outbox.reply(manager, { topic: 'payments.replies', type: 'Charged', payload: {} });
    });
  }
}

@Module({})
class OrderModule {}

const spans = RecordedSpans.ofThisFile();
const participants = MessagingApps.onOwnDatabase();
const telemetry = SagaTelemetryModule.forRoot({ metrics: false, gauges: false });
let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

test("the starter's trace goes on over a broker, into the sagas of another service and back, where no client is instrumented", async () => {
  const mqtt = await startMqtt();
  const client = () => ClientProxyFactory.create({ transport: Transport.MQTT, options: { url: mqtt.url } });
  const server = (clientId: string) => ({
    strategy: new DurableMqttServer({ url: mqtt.url, clientId, clean: false }),
  });
  await participants.start({
    messaging: { client: client() },
    imports: [SagaModule.forRoot(), telemetry],
    providers: [PaymentSaga],
    controllers: [Payments],
    microservice: server('payments'),
  });
  const orders = await NestFactory.create(
    {
      module: OrderModule,
      imports: [
        TypeOrmModule.forRoot({ type: 'postgres', url: database.url }),
        SagaModule.forRoot(),
        SagaMessagingModule.forRoot({ client: client() }),
        telemetry,
      ],
      providers: [OrderSaga],
      controllers: [Replies],
    },
    { logger: process.env.SAGA_LOG ? undefined : false, abortOnError: false },
  );
  orders.connectMicroservice(server('orders'));
  await orders.init();
  await orders.startAllMicroservices();
  const order = await spans.inSpan('POST /orders', () =>
    orders.get(SagaService).start(OrderSaga, { total: 300 }),
  );
  await order.outcome({ timeout: '20s' });
  await until(() => spans.names.includes('saga payment'));
  expect(new Set(spans.all.map((span) => span.spanContext().traceId)).size).toBe(1);
  expect(spans.tree().sort()).toEqual(
    [
      'POST /orders',
      '  start order',
      '    step order.ask',
      '      start payment',
      '        step payment.charge',
      '        saga payment',
      '    step order.paid',
      '    saga order',
    ].sort(),
  );
  await orders.close();
  await mqtt.stop();
});
