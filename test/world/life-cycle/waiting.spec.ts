import type { AddressInfo } from 'node:net';
import {
  type BeforeApplicationShutdown,
  Controller,
  Get,
  type INestApplication,
  Injectable,
  Module,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Saga, SagaModule, SagaService, Step, WaitFor } from '../../../libs/saga/src/index.js';
import { Gate } from '../../support/gate.js';
import { TestApps } from '../../support/test-app.js';

const apps = TestApps.onOwnDatabase();

@Saga({ name: 'waits' })
class Waits {
  @WaitFor({ signal: 'never' }) never() {}
}
@Saga({ name: 'ends' })
class Ends {
  @Step() act() {}
}

describe('a caller that waits for a saga', () => {
  test.each([
    ['runs sagas', undefined],
    ['runs none', false as const],
  ])('receives an error when an application that %s is closed', async (_, worker) => {
    const app = await apps.start({ sagas: [Waits], options: { worker } });
    const handle = await app.sagas.start(Waits, {});
    const waits = [handle.outcome(), app.sagas.wait(handle.id), handle.outcome({ timeout: '1h' })];
    const rejected = waits.map((wait) => expect(wait).rejects.toMatchObject({ code: 'SAGA_UNAVAILABLE' }));
    await app.close();
    await Promise.all(rejected);
  });

  test('in a closed application receives an error immediately', async () => {
    const app = await apps.start({ sagas: [Waits] });
    const handle = await app.sagas.start(Waits, {});
    await app.close();
    const calls = [handle.outcome(), app.sagas.wait(handle.id), app.sagas.start(Waits, {})];
    for (const result of await Promise.allSettled(calls))
      expect(result).toMatchObject({ status: 'rejected', reason: { code: 'SAGA_UNAVAILABLE' } });
  });

  test('receives an error when the saga was deleted', async () => {
    const app = await apps.start({ sagas: [Waits], options: { worker: { pollInterval: 20 } } });
    const handle = await app.sagas.start(Waits, {});
    const rejected = expect(handle.outcome()).rejects.toMatchObject({ code: 'SAGA_NOT_FOUND' });
    await apps.sql('DELETE FROM saga.step');
    await apps.sql('DELETE FROM saga.instance');
    await rejected;
  });

  test('receives an error when the transaction which started it was rolled back', async () => {
    const app = await apps.start({ sagas: [Ends], options: { worker: { pollInterval: 20 } } });
    let rejected: Promise<void> | undefined;
    const work = app.dataSource.transaction(async (manager) => {
      const handle = await app.sagas.start(Ends, {}, { manager });
      rejected = expect(handle.outcome()).rejects.toMatchObject({ code: 'SAGA_NOT_FOUND' });
      throw new Error('no business');
    });
    await expect(work).rejects.toThrow('no business');
    await rejected;
  });

  test('of a transaction that stays open for many polls is answered after its commit', async () => {
    const app = await apps.start({ sagas: [Ends], options: { worker: { pollInterval: 10 } } });
    const outcome = await app.dataSource.transaction(async (manager) => {
      const handle = await app.sagas.start(Ends, {}, { manager });
      const waiting = handle.outcome();
      waiting.catch(() => undefined);
      await apps.sql('SELECT pg_sleep(0.5)');
      return [waiting];
    });
    expect((await outcome[0]!).status).toBe('completed');
  });
});

describe.each(['express', 'fastify'])('a request on %s that waits for a saga', (platform) => {
  test('before or after the drain does not keep the application from closing, and is answered', async () => {
    const [waiting, draining] = [new Gate(), new Gate()];
    const code = ({ code: text }: { code: string }) => text;
    @Injectable()
    class Last implements BeforeApplicationShutdown {
      beforeApplicationShutdown() {
        draining.open();
      }
    }
    @Controller()
    class Orders {
      constructor(private readonly sagas: SagaService) {}
      @Get() async order() {
        const handle = await this.sagas.start(Waits, {});
        const before = handle.outcome();
        waiting.open();
        const rejected = [await before.catch(code)];
        await draining.opened;
        const late = await this.sagas.start(Waits, {});
        return [...rejected, await late.outcome().catch(code)];
      }
    }
    @Module({
      imports: [
        TypeOrmModule.forRoot({ type: 'postgres', url: apps.url, retryAttempts: 0 }),
        SagaModule.forRoot(),
      ],
      providers: [Waits, Last],
      controllers: [Orders],
    })
    class Shop {}
    const quiet = { logger: false as const, abortOnError: false };
    const app: INestApplication =
      platform === 'fastify'
        ? await NestFactory.create(Shop, new FastifyAdapter(), quiet)
        : await NestFactory.create(Shop, quiet);
    await app.listen(0, '127.0.0.1');
    const { port } = (app.getHttpServer() as { address(): AddressInfo }).address();
    const answer = fetch(`http://127.0.0.1:${port}/`, { headers: { connection: 'close' } });
    await waiting.opened;
    await app.close();
    expect(await (await answer).text()).toBe('["SAGA_UNAVAILABLE","SAGA_UNAVAILABLE"]');
  });
});
