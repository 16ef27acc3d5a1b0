import { Controller, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ClientProxyFactory, Transport } from '@nestjs/microservices';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { Saga, SagaModule, SagaService, Step, type StepContext, WaitFor } from '../../libs/saga/src/index.js';
import { partsOf, traceOfSaga } from '../../libs/saga/src/engine/observe/trace-context.js';
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
import { startMqtt } from './support/brokers.js';
import { MessagingApps } from './support/messaging-apps.js';
import { createTestDatabase, type TestDatabase } from '../support/test-database.js';

interface Order {
  customer: string;
  total: number;
}

@Saga({ name: 'order' })
class OrderSaga {
  @Step()
  askForPayment(ctx: StepContext<Order>): void {
    const message = { topic: 'payments.requests', type: 'Charge', payload: ctx.input };
    ctx.publish(message);
  }

  @WaitFor({ signal: 'payment', timeout: '30s' })
  paid(_ctx: StepContext<Order>, reply: { charged: number }): number {
    return reply.charged;
  }
}

@Controller()
class Replies {
  @SagaReply('payments.replies', { signal: 'payment' })
  reply(@Incoming() message: IncomingMessage<{ amount: number }>): { charged: number } {
    replies.push(message);
    return { charged: message.payload.amount };
  }
}

const requests: IncomingMessage[] = [];
const replies: IncomingMessage[] = [];

@Controller()
class Payments {
  constructor(
    private readonly inbox: Inbox,
    private readonly outbox: Outbox,
    private readonly dataSource: DataSource,
  ) {}

  @DurableEvent('payments.requests')
  async charge(@Incoming() message: IncomingMessage<Order>): Promise<void> {
    requests.push(message);
    await this.inbox.once(message.id, this.dataSource.manager, (manager) =>
      this.outbox.reply(manager, {
        ...{ topic: 'payments.replies', type: 'Charged', payload: { amount: message.payload.total } },
      }),
    );
  }
}

@Module({})
class OrderModule {}

const participants = MessagingApps.onOwnDatabase();
let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

test('a saga asks a participant over a broker, and goes on with its reply, in one trace', async () => {
  const mqtt = await startMqtt();
  const client = () => ClientProxyFactory.create({ transport: Transport.MQTT, options: { url: mqtt.url } });
  const server = (clientId: string) => ({
    strategy: new DurableMqttServer({ url: mqtt.url, clientId, clean: false }),
  });
  await participants.start({
    messaging: { client: client() },
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
      ],
      providers: [OrderSaga],
      controllers: [Replies],
    },
    { logger: process.env.SAGA_LOG ? undefined : false, abortOnError: false },
  );
  orders.connectMicroservice(server('orders'));
  await orders.init();
  await orders.startAllMicroservices();
  const saga = await orders.get(SagaService).start(OrderSaga, { customer: 'c-1', total: 300 });
  const outcome = await saga.outcome({ timeout: '20s' });
  expect(outcome).toMatchObject({ status: 'completed', results: { paid: 300 } });
  expect(requests[0]).toMatchObject({ type: 'Charge', key: saga.id, headers: { 'saga-id': saga.id } });
  expect(replies[0]).toMatchObject({ type: 'Charged', key: saga.id, headers: { 'saga-id': saga.id } });
  const traces = [...requests, ...replies].map(({ headers }) => partsOf(headers.traceparent)?.trace);
  expect(new Set(traces)).toEqual(new Set([traceOfSaga(saga.id)]));
  await orders.close();
  await mqtt.stop();
});
