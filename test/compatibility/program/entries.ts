import 'reflect-metadata';
import assert from 'node:assert/strict';
import { Controller, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ClientProxyFactory, Transport } from '@nestjs/microservices';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import { HealthCheckService, TerminusModule } from '@nestjs/terminus';
import { IsString } from 'class-validator';
import { SagaService, Saga, Step, type StepContext } from 'nestjs-durable-saga';
import { SagaAdminModule } from 'nestjs-durable-saga-admin';
import { declareSaga } from 'nestjs-durable-saga-declared';
import {
  DurableEvent,
  DurableMqttServer,
  Incoming,
  type IncomingMessage,
  SagaMessagingModule,
} from 'nestjs-durable-saga-messaging';
import { SagaHealthIndicator, SagaTelemetryModule } from 'nestjs-durable-saga-telemetry';
import { SagaTest } from 'nestjs-durable-saga/testing';
import { DataSource } from 'typeorm';
import { AppModule } from './app.module.js';
import { loadedVersions } from './loaded-versions.js';
import { itCompletes } from './promises.js';
import { startBroker } from './mqtt-broker.js';

class Announcement {
  @IsString()
  readonly text!: string;
}

const received: IncomingMessage<Announcement>[] = [];
let failures = 1;

/** The command writes its standard input to its standard output. */
const GREETING = `
saga: greet
input: { type: object, required: [name], properties: { name: { type: string } } }
steps:
  greet: { exec: { command: [cat], stdin: "{{ { 'hello': input.name } }}" } }
`;

@Saga({ input: Announcement })
class AnnounceSaga {
  @Step()
  async announce(ctx: StepContext<Announcement>): Promise<string> {
    ctx.publish({ topic: 'announcements', payload: { text: ctx.input.text } });
    return ctx.input.text;
  }
}

@Controller()
class Listener {
  /** The first time it throws, so that the message has to come again. */
  @DurableEvent('announcements', { redeliverAfter: 20 })
  async announced(@Incoming() message: IncomingMessage<Announcement>): Promise<void> {
    if (failures-- > 0) throw new Error('not now');
    received.push(message);
  }
}

/** Every entry point in one application, over the packages that each of them is for. */
async function main(): Promise<void> {
  const broker = await startBroker();
  const client = ClientProxyFactory.create({ transport: Transport.MQTT, options: { url: broker.url } });

  @Module({
    imports: [
      AppModule,
      SagaMessagingModule.forRoot({ client }),
      SagaTelemetryModule.forRoot(),
      SagaAdminModule.register({ path: 'ops', guards: [] }),
      TerminusModule,
    ],
    controllers: [Listener],
    providers: [AnnounceSaga],
  })
  class EntriesModule {}

  const app = await NestFactory.create(EntriesModule, { logger: ['warn'] });
  SwaggerModule.setup('docs', app, () => SwaggerModule.createDocument(app, new DocumentBuilder().build()));
  app.connectMicroservice(
    { strategy: new DurableMqttServer({ url: broker.url, clientId: 'listener', clean: false }) },
    { inheritAppConfig: true },
  );
  await app.startAllMicroservices();
  await app.listen(0, '127.0.0.1');
  await itCompletes(app);
  const handle = await app.get(SagaService).start(AnnounceSaga, { text: 'a message' });
  await handle.outcome({ timeout: '60s' });
  const wrong = app.get(SagaService).start(AnnounceSaga, { text: 7 as unknown as string });
  await assert.rejects(wrong, /input\.text: must be a string/);
  while (received.length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
  assert.deepEqual(received[0]!.payload, { text: 'a message' });

  const health = await (
    await app.resolve(HealthCheckService)
  ).check([() => app.get(SagaHealthIndicator, { strict: false }).isHealthy('sagas', { maxStuck: 0 })]);
  assert.equal(health.status, 'ok');
  await itIsServed(await app.getUrl());
  const run = await SagaTest.of(AnnounceSaga).run({ text: 'in memory' });
  assert.equal(run.outcome.status, 'completed');
  await itRunsDeclared();
  const versions = await loadedVersions(app.get(DataSource));
  await app.close();
  await broker.stop();
  console.log(JSON.stringify(versions));
}

async function itRunsDeclared(): Promise<void> {
  const Greet = await declareSaga(GREETING);
  const { outcome } = await SagaTest.of(Greet).run({ name: 'Ada' });
  assert.equal(outcome.status, 'completed');
  assert.deepEqual(outcome.results, { greet: { hello: 'Ada' } });
  const wrong = SagaTest.of(Greet).run({ name: 7 });
  await assert.rejects(wrong, /name/);
}

async function itIsServed(url: string): Promise<void> {
  const page = await fetch(`${url}/ops`);
  assert.equal(page.status, 200);
  assert.match(await page.text(), /<html/);
  const described = (await (await fetch(`${url}/docs-json`)).json()) as { paths: object };
  assert.ok(Object.keys(described.paths).some((path) => path.startsWith('/ops/')));
}

void main();
