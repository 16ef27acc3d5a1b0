import {
  type BeforeApplicationShutdown,
  type DynamicModule,
  Injectable,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleDestroy,
  type OnModuleInit,
} from '@nestjs/common';
import { LazyModuleLoader, NestFactory } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Saga, SagaModule, SagaService, Step, type StepContext } from '../../../libs/saga/src/index.js';
import { Gate, pause, until } from '../../support/gate.js';
import { TestApps } from '../../support/test-app.js';

const apps = TestApps.onOwnDatabase();
let started: Gate;
beforeEach(() => (started = new Gate()));

@Saga({ name: 'order', retry: { attempts: 1 } })
class Order {
  @Step() async act({ input }: StepContext<{ takes?: number }>) {
    if (input.takes === undefined) return;
    started.open();
    await pause(input.takes);
  }
}

const leased = () => apps.sql('SELECT id FROM saga.instance WHERE locked_by IS NOT NULL');
function shop(providers: DynamicModule['providers']): DynamicModule {
  const database = TypeOrmModule.forRoot({ type: 'postgres', url: apps.url, retryAttempts: 0 });
  return { module: class Shop {}, imports: [database, SagaModule.forRoot()], providers };
}

const HOOKS = ['onModuleDestroy', 'beforeApplicationShutdown', 'onApplicationShutdown'] as const;

function failing(hook: string, how: () => Promise<void>) {
  @Injectable()
  class Failing {}
  Object.assign(Failing.prototype, { [hook]: how });
  return Failing;
}

describe('a hook of the application', () => {
  test.each(HOOKS)(
    '%s that throws changes nothing: steps settle, and every lease is given back',
    async (hook) => {
      const Throws = failing(hook, () => Promise.reject(new Error(`${hook} failed`)));
      const app = await apps.start({ sagas: [Order], providers: [Throws] });
      const { id } = await app.sagas.start(Order, { takes: 50 });
      await started.opened;
      await app.close();
      expect(await leased()).toEqual([]);
      const other = await apps.start({ sagas: [Order] });
      expect((await other.sagas.wait(id)).status).toBe('completed');
      expect((await other.sagas.get(id)).steps[0]!.attempts).toBe(1);
    },
  );

  test.each(HOOKS)('%s that is slow keeps no lease: another process continues immediately', async (hook) => {
    const [entered, leave] = [new Gate(), new Gate()];
    const Slow = failing(hook, async () => {
      entered.open();
      await leave.opened;
    });
    const app = await apps.start({ sagas: [Order], providers: [Slow], options: { worker: { lease: '1h' } } });
    const { id } = await app.sagas.start(Order, { takes: 50 });
    await started.opened;
    const closed = app.close();
    await entered.opened;
    const other = await apps.start({ sagas: [Order] });
    expect((await other.sagas.wait(id)).status).toBe('completed');
    leave.open();
    await closed;
  });

  test('of the bootstrap that throws ends the start before any saga has run', async () => {
    const before = await apps.start({ sagas: [Order], options: { worker: false } });
    const { id } = await before.sagas.start(Order, {});
    const Throws = failing('onApplicationBootstrap', () => Promise.reject(new Error('no broker')));
    const nest = await NestFactory.create(shop([Order, Throws]), { logger: false, abortOnError: false });
    await expect(nest.init()).rejects.toThrow('no broker');
    await nest.close();
    expect(await before.sagas.get(id)).toMatchObject({ status: 'running', steps: [{ attempts: 0 }] });
  });

  test('may start sagas, from the first hook to the last before connections are closed', async () => {
    const ids: string[] = [];
    @Injectable()
    class Eager implements OnModuleInit, OnApplicationBootstrap, OnModuleDestroy, BeforeApplicationShutdown {
      constructor(private readonly sagas: SagaService) {}
      readonly start = async () => void ids.push((await this.sagas.start(Order, {})).id);
      onModuleInit = this.start;
      onApplicationBootstrap = this.start;
      onModuleDestroy = this.start;
      beforeApplicationShutdown = this.start;
    }
    const app = await apps.start({ sagas: [Order], providers: [Eager] });
    await app.close();
    expect(ids).toHaveLength(4);
    const other = await apps.start({ sagas: [Order] });
    for (const id of ids) expect((await other.sagas.wait(id)).status).toBe('completed');
  });

  test('onApplicationShutdown receives an error that the application is closed', async () => {
    const result = new Gate<unknown>();
    @Injectable()
    class Late implements OnApplicationShutdown {
      constructor(private readonly sagas: SagaService) {}
      async onApplicationShutdown() {
        await this.sagas.start(Order, {}).then(result.open, result.open);
      }
    }
    const app = await apps.start({ sagas: [Order], providers: [Late] });
    await app.close();
    expect(await result.opened).toMatchObject({ code: 'SAGA_UNAVAILABLE' });
  });

  test('of the bootstrap may wait for a saga that another process runs', async () => {
    await apps.start({ sagas: [Order], options: { worker: { pollInterval: 20 } } });
    const outcome = new Gate<string>();
    @Injectable()
    class Waits implements OnApplicationBootstrap {
      constructor(private readonly sagas: SagaService) {}
      async onApplicationBootstrap() {
        const handle = await this.sagas.start(Order, { takes: 50 });
        outcome.open((await handle.outcome()).status);
      }
    }
    await apps.start({ sagas: [Order], providers: [Waits] });
    expect(await outcome.opened).toBe('completed');
  });
});

describe('an application', () => {
  test('may be closed twice, at once or one after the other', async () => {
    const app = await apps.start({ sagas: [Order] });
    await app.sagas.start(Order, { takes: 50 });
    await started.opened;
    await Promise.all([app.nest.close(), app.nest.close()]);
    await app.close();
    expect(await leased()).toEqual([]);
  });

  test('may be closed right after its start, with sagas that are due', async () => {
    const before = await apps.start({ sagas: [Order], options: { worker: false } });
    await Promise.all(Array.from({ length: 50 }, () => before.sagas.start(Order, {})));
    for (let n = 0; n < 3; n += 1) await (await apps.start({ sagas: [Order] })).close();
    expect(await leased()).toEqual([]);
    const after = await apps.start({ sagas: [Order] });
    await until(async () => (await after.sagas.find({ status: 'completed' })).items.length === 50);
  });

  test('that is closed while its hooks are called starts no worker afterwards', async () => {
    const [entered, leave] = [new Gate(), new Gate()];
    const Slow = failing('onApplicationBootstrap', async () => {
      entered.open();
      await leave.opened;
    });
    const before = await apps.start({ sagas: [Order], options: { worker: false } });
    const { id } = await before.sagas.start(Order, {});
    // Nest waits for the hooks of a context, and not for those of an application.
    const nest = await NestFactory.create(shop([Order, Slow]), { logger: false, abortOnError: false });
    const starting = nest.init();
    await entered.opened;
    await nest.close();
    leave.open();
    await starting;
    expect(await before.sagas.get(id)).toMatchObject({ status: 'running', steps: [{ attempts: 0 }] });
    expect(await leased()).toEqual([]);
  });

  test('drains while others keep starting sagas through it', async () => {
    const app = await apps.start({ sagas: [Order], options: { worker: { concurrency: 5 } } });
    let goesOn = true;
    const clients = Array.from({ length: 20 }, async () => {
      while (goesOn) await app.sagas.start(Order, {}).catch(() => (goesOn = false));
    });
    await app.close();
    await Promise.all(clients);
    expect(await leased()).toEqual([]);
  });

  test('may share a schema and a process with others, and closes alone', async () => {
    const [one, two] = [await apps.start({ sagas: [Order] }), await apps.start({ sagas: [Order] })];
    const { id } = await one.sagas.start(Order, { takes: 50 });
    await one.close();
    expect((await two.sagas.wait(id)).status).toBe('completed');
    const next = await two.sagas.start(Order, {});
    expect((await next.outcome()).status).toBe('completed');
  });

  test('that loads a module lazily, before or while sagas run, closes as any other', async () => {
    const used: string[] = [];
    @Injectable()
    class Lazy {
      use() {
        used.push('lazy');
      }
    }
    const lazy: DynamicModule = { module: class LazyModule {}, providers: [Lazy] };
    @Saga({ name: 'lazy' })
    class UsesLazy {
      constructor(private readonly loader: LazyModuleLoader) {}
      @Step() async act() {
        (await this.loader.load(() => lazy)).get(Lazy).use();
        started.open();
        await pause(50);
      }
    }
    const app = await apps.start({ sagas: [UsesLazy] });
    const { id } = await app.sagas.start(UsesLazy, {});
    await until(() => used.length > 0);
    await app.close();
    const other = await apps.start({ sagas: [UsesLazy] });
    expect((await other.sagas.wait(id)).status).toBe('completed');
    expect(used).toEqual(['lazy']);
  });
});
