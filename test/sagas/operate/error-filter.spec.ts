import type { AddressInfo } from 'node:net';
import { Body, Controller, Get, type INestApplication, Inject, Module, Param, Post } from '@nestjs/common';
import { APP_FILTER, NestFactory } from '@nestjs/core';
import { ClientProxyFactory, MessagePattern, Transport } from '@nestjs/microservices';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { TypeOrmModule } from '@nestjs/typeorm';
import { lastValueFrom } from 'rxjs';
import {
  Saga,
  SagaError,
  SagaErrorFilter,
  SagaModule,
  SagaNotFoundError,
  SagaService,
  Step,
} from '../../../libs/saga/src/index.js';
import { TestApps } from '../../support/test-app.js';

@Saga({ name: 'order' })
class Order {
  @Step() act() {}
}
class OtherError extends SagaError {
  readonly code = 'SAGA_OTHER';
}

@Controller()
class OrdersController {
  constructor(@Inject(SagaService) private readonly sagas: SagaService) {}

  @Get('orders/:id') look(@Param('id') id: string) {
    return this.sagas.get({ saga: Order, correlationId: id });
  }
  @Post('orders') place(@Body() body: { id: string; options?: object }) {
    return this.sagas.start(Order, body, { correlationId: body.id, ...body.options });
  }
  @Get('secret') secret() {
    throw new OtherError('the password is x');
  }
  @MessagePattern('ask') ask() {
    throw new SagaNotFoundError('not shown to clients');
  }
}

const apps = TestApps.onOwnDatabase();
let app: INestApplication | undefined;
afterEach(async () => app?.close());

async function served(platform: 'express' | 'fastify', how: 'provided' | 'made'): Promise<string> {
  @Module({
    imports: [
      TypeOrmModule.forRoot({ type: 'postgres', url: apps.url, retryAttempts: 0 }),
      SagaModule.forRoot(),
    ],
    controllers: [OrdersController],
    providers: [Order, ...(how === 'provided' ? [{ provide: APP_FILTER, useClass: SagaErrorFilter }] : [])],
  })
  class AppModule {}
  const quiet = { logger: false as const, abortOnError: false };
  app = await (platform === 'fastify'
    ? NestFactory.create(AppModule, new FastifyAdapter(), quiet)
    : NestFactory.create(AppModule, quiet));
  if (how === 'made') app.useGlobalFilters(new SagaErrorFilter());
  await app.listen(0, '127.0.0.1');
  return `http://127.0.0.1:${(app.getHttpServer() as { address(): AddressInfo }).address().port}`;
}

test.each([
  ['express', 'provided'],
  ['express', 'made'],
  ['fastify', 'provided'],
  ['fastify', 'made'],
] as const)(
  'on %s, %s, an unknown order is 404, a conflict 409, and what is wrong 400',
  async (platform, how) => {
    const url = await served(platform, how);
    const answer = async (path: string, body?: object) => {
      const response = await fetch(`${url}/${path}`, {
        ...(body && { method: 'POST', body: JSON.stringify(body) }),
        headers: { 'content-type': 'application/json' },
      });
      return { status: response.status, body: (await response.json()) as Record<string, unknown> };
    };
    expect(await answer('orders/o-1')).toEqual({
      status: 404,
      body: {
        ...{ statusCode: 404, code: 'SAGA_NOT_FOUND' },
        message: "No saga of Order has the correlation id 'o-1'.",
      },
    });
    expect((await answer('orders', { id: 'o-1' })).status).toBe(201);
    expect(await answer('orders', { id: 'o-1', other: true })).toMatchObject({
      status: 409,
      body: { code: 'SAGA_CONFLICT' },
    });
    expect(await answer('orders', { id: 'o-2', options: { dely: 1 } })).toMatchObject({
      status: 400,
      body: { code: 'SAGA_VALIDATION', message: expect.stringContaining("Did you mean 'delay'?") },
    });
    expect(await answer('secret')).toEqual({
      status: 500,
      body: { statusCode: 500, message: 'Internal server error' },
    });
  },
);

test('messages of microservices keep the handling of Nest', async () => {
  await served('express', 'provided');
  const microservice = app!.connectMicroservice(
    { transport: Transport.TCP, options: { host: '127.0.0.1', port: 0 } },
    { inheritAppConfig: true },
  );
  await app!.startAllMicroservices();
  const server = (microservice as unknown as { serverInstance: { server: { address(): AddressInfo } } })
    .serverInstance.server;
  const client = ClientProxyFactory.create({
    transport: Transport.TCP,
    options: { host: '127.0.0.1', port: server.address().port },
  });
  try {
    await expect(lastValueFrom(client.send('ask', {}))).rejects.toMatchObject({
      ...{ status: 'error', message: 'Internal server error' },
    });
  } finally {
    await client.close();
  }
});
