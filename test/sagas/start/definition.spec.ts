import { Injectable, Module, Scope, type Type } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { getDataSourceToken } from '@nestjs/typeorm';
import {
  Saga,
  SagaConfigurationError,
  SagaDefinitionError,
  SagaModule,
  type SagaModuleOptions,
  SagaService,
  Step,
  type StepContext,
} from '../../../libs/saga/src/index.js';
import { SagaAdminModule } from '../../../libs/admin/src/index.js';
import { Outbox, SagaMessagingModule } from '../../../libs/messaging/src/index.js';
import { SagaHealthIndicator, SagaTelemetryModule } from '../../../libs/telemetry/src/index.js';
import { until } from '../../support/gate.js';
import { TestApps } from '../../support/test-app.js';

const apps = TestApps.onOwnDatabase();

/** What the application says instead of starting. */
async function refusal(options: Parameters<TestApps['start']>[0]): Promise<Error> {
  const error = await apps.start(options).then(
    () => undefined,
    (thrown: Error) => thrown,
  );
  if (!error) throw new Error('The application started');
  return error;
}

describe('a saga', () => {
  test('is found in whichever module provides it, with its injected dependencies', async () => {
    @Injectable()
    class Prices {
      readonly price = 5;
    }
    @Saga()
    class PlaceOrderSaga {
      constructor(private readonly prices: Prices) {}
      @Step() price() {
        return this.prices.price;
      }
    }
    @Injectable()
    class Checkout {
      constructor(readonly sagas: SagaService) {}
    }
    @Module({ providers: [PlaceOrderSaga, Prices, Checkout] })
    class OrdersModule {}
    @Module({ imports: [OrdersModule] })
    class ShopModule {}
    const app = await apps.start({ imports: [ShopModule] });
    const { sagas } = app.nest.get(Checkout, { strict: false });
    const { id, outcome } = await sagas.start(PlaceOrderSaga, {});
    expect((await outcome()).results).toEqual({ price: 5 });
    expect((await sagas.get(id)).saga).toBe('place-order');
  });

  test('may be provided under another token besides', async () => {
    @Saga({ name: 'order' })
    class Order {
      @Step() act() {}
    }
    const { sagas } = await apps.start({ sagas: [Order, { provide: 'ALIAS', useExisting: Order }] });
    expect((await (await sagas.start(Order, {})).outcome()).status).toBe('completed');
  });

  test('continues in the version that it started in, while new ones start in the highest', async () => {
    const ran: string[] = [];
    let fail = true;
    @Saga({ name: 'order', version: 1, retry: { attempts: 9, delay: 1, maxDelay: 50 } })
    class OrderV1 {
      @Step() reserve({ sagaId }: StepContext) {
        ran.push(`v1 reserve ${sagaId}`);
      }
      @Step() ship({ sagaId }: StepContext) {
        if (fail) throw new Error('not yet');
        ran.push(`v1 ship ${sagaId}`);
      }
    }
    @Saga({ name: 'order', version: 2 })
    class OrderV2 {
      @Step() send({ sagaId }: StepContext) {
        ran.push(`v2 send ${sagaId}`);
      }
    }
    const before = await apps.start({ sagas: [OrderV1] });
    const old = await before.sagas.start(OrderV1, {}, { correlationId: 'old' });
    await until(() => ran.length === 1);
    await before.close();
    fail = false;
    const { sagas } = await apps.start({ sagas: [OrderV2, OrderV1] });
    const young = await sagas.start(OrderV2, {});
    const youngToo = await sagas.start(OrderV1, {});
    for (const { id } of [old, young, youngToo]) expect((await sagas.wait(id)).status).toBe('completed');
    expect(ran.sort()).toEqual(
      [`v1 reserve ${old.id}`, `v1 ship ${old.id}`, `v2 send ${young.id}`, `v2 send ${youngToo.id}`].sort(),
    );
    expect((await sagas.get(old.id)).version).toBe(1);
    // The same correlation id is the same saga, whatever its version.
    expect(await sagas.start(OrderV2, {}, { correlationId: 'old' })).toMatchObject({
      id: old.id,
      created: false,
    });
  });

  test('of a version that no process has any more is shown as it was recorded, and waits', async () => {
    @Saga({ name: 'order', version: 1, retry: { attempts: 2, delay: 1 } })
    class OrderV1 {
      @Step() reserve() {
        return 'reserved';
      }
      @Step() ship() {
        throw new Error('not yet');
      }
    }
    @Saga({ name: 'order', version: 2 })
    class OrderV2 {
      @Step() send() {}
    }
    const web = await apps.start({ sagas: [OrderV1], options: { worker: false } });
    const { id } = await web.sagas.start(OrderV1, {});
    const { sagas, operations } = await apps.start({ sagas: [OrderV2] });
    expect(await sagas.get(id)).toMatchObject({
      status: 'running',
      waitingFor: { kind: 'version', saga: 'order', version: 1 },
      steps: [],
    });
    await sagas.cancel(id, { reason: 'gone' });
    expect(await sagas.get(id)).toMatchObject({ status: 'compensating' });
    await operations.abort(id);
    expect(await sagas.wait(id)).toMatchObject({ status: 'aborted' });
  });
});

describe('a wrong definition stops the application, and says which class, which step, and the fix', () => {
  const wrong: [string, () => Type[], RegExp[]][] = [
    [
      'a compensation that does not exist',
      () => {
        class Broken {
          act() {}
        }
        const decorate = Step as (options: object) => MethodDecorator;
        decorate({ compensate: 'undoIt' })(Broken.prototype, 'act', {});
        Saga()(Broken);
        return [Broken];
      },
      [/Broken/, /step 'act'/, /compensate 'undoIt' is not a method/],
    ],
    [
      'a wait for a step that does not exist',
      () => {
        class Slip {
          reserve() {}
          ship() {}
        }
        const decorate = Step as (options: object) => MethodDecorator;
        decorate({})(Slip.prototype, 'reserve', {});
        decorate({ after: 'resreve' })(Slip.prototype, 'ship', {});
        Saga()(Slip);
        return [Slip];
      },
      [/Slip/, /step 'ship': waits for 'resreve'/, /did you mean 'reserve'/],
    ],
    [
      'steps that wait for each other',
      () => {
        @Saga()
        class Circle {
          @Step({ after: 'second' }) first() {}
          @Step({ after: 'first' }) second() {}
        }
        return [Circle];
      },
      [/Circle/, /step 'first': waits for itself, in the cycle first → second → first/],
    ],
    [
      'a compensation that can never run',
      () => {
        @Saga()
        class PastThePivot {
          @Step({ pivot: true }) pay() {}
          @Step({ compensate: 'unship' }) ship() {}
          unship() {}
        }
        return [PastThePivot];
      },
      [/PastThePivot/, /step 'ship': its compensation 'unship' can never run/, /remove compensate/],
    ],
    [
      'two sagas of one name and version',
      () => {
        @Saga({ name: 'twin' })
        class One {
          @Step() act() {}
        }
        @Saga({ name: 'twin' })
        class Two {
          @Step() act() {}
        }
        return [One, Two];
      },
      [/One and Two/, /'twin' in version 1/, /version: 2/],
    ],
    [
      'a request-scoped saga',
      () => {
        @Saga()
        class PerRequest {
          @Step() act() {}
        }
        Injectable({ scope: Scope.REQUEST })(PerRequest);
        return [PerRequest];
      },
      [/PerRequest is request-scoped/, /default scope/],
    ],
    [
      'a transient saga',
      () => {
        @Saga()
        class Fleeting {
          @Step() act() {}
        }
        Injectable({ scope: Scope.TRANSIENT })(Fleeting);
        return [Fleeting];
      },
      [/Fleeting is request-scoped or transient/, /default scope/],
    ],
    [
      'a saga without steps, and all others at once',
      () => {
        @Saga()
        class Empty {}
        @Saga({ name: ' ' })
        class Nameless {
          @Step() act() {}
        }
        return [Empty, Nameless];
      },
      [/Empty.*no steps/, /Nameless.*name ' '/],
    ],
  ];

  test.each(wrong)('%s', async (_, sagas, messages) => {
    const error = await refusal({ sagas: sagas() });
    expect(error).toBeInstanceOf(SagaDefinitionError);
    for (const message of messages) expect(error.message).toMatch(message);
  });

  test('a saga that depends on the request', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class Session {}
    @Saga()
    class Dependent {
      constructor(readonly session: Session) {}
      @Step() act() {}
    }
    const error = await refusal({ sagas: [Dependent], providers: [Session] });
    expect(error).toBeInstanceOf(SagaDefinitionError);
    expect(error.message).toMatch(/Dependent is request-scoped.*through a dependency/);
  });

  test('a saga that is provided twice', async () => {
    @Saga()
    class Order {
      @Step() act() {}
    }
    @Module({ providers: [Order] })
    class OrdersModule {}
    const error = await refusal({ sagas: [Order], imports: [OrdersModule] });
    expect(error).toBeInstanceOf(SagaDefinitionError);
    expect(error.message).toMatch(/Order is provided by .*OrdersModule|OrdersModule.*Order is provided/);
    expect(error.message).toMatch(/export it/);
  });

  test('a worker’s saga that is not there', async () => {
    @Saga()
    class Order {
      @Step() act() {}
    }
    @Saga()
    class Other {
      @Step() act() {}
    }
    const error = await refusal({ sagas: [Order], options: { worker: { sagas: [Other] } } });
    expect(error).toBeInstanceOf(SagaDefinitionError);
    expect(error.message).toContain('Other');
  });
});

describe('a wrong configuration stops the application, and names all that is wrong', () => {
  test('SagaModule imported twice: both would run all sagas, each in its own schema', async () => {
    const again = SagaModule.forRoot({ schema: 'other' });
    const error = await refusal({ imports: [again] });
    expect(error).toBeInstanceOf(SagaConfigurationError);
    expect(error.message).toContain('SagaModule is imported 2 times');
    expect(error.message).toContain('an application context for each');
  });

  test.each([
    [
      'SagaMessagingModule',
      () => SagaMessagingModule.forRoot({ transport: { send: async () => undefined } }),
    ],
    ['SagaTelemetryModule', (gauges: boolean) => SagaTelemetryModule.forRoot({ gauges })],
  ])('%s imported twice: it would have the options of one of them', async (name, imported) => {
    const error = await refusal({ imports: [imported(true), imported(false)] });
    expect(error).toBeInstanceOf(SagaConfigurationError);
    expect(error.message).toContain(`${name} is imported 2 times, and would have the options of one of them`);
  });

  describe.each([
    ['SagaModule', SagaModule, SagaService, 'forRoot()'],
    ['SagaMessagingModule', SagaMessagingModule, Outbox, 'forRoot()'],
    ['SagaTelemetryModule', SagaTelemetryModule, SagaHealthIndicator, 'forRoot()'],
    ['SagaAdminModule', SagaAdminModule, undefined, 'register()'],
  ])('%s imported without options', (name, module, service, method) => {
    const message = `${name} is imported without options. Import ${name}.${method} or ${name}.${method.replace('()', 'Async()')}`;

    test('in the root module', async () => {
      const error = await refusal({
        imports: [module],
        without: name === 'SagaModule' ? 'sagas' : undefined,
      });
      expect(error).toBeInstanceOf(SagaConfigurationError);
      expect(error.message).toContain(message);
    });

    test('in a module that others depend on for its service', async () => {
      @Module({ providers: service ? [{ provide: 'uses', useFactory: () => 1, inject: [service] }] : [] })
      class OrdersModule {}
      const error = await refusal({
        ...{ imports: [OrdersModule, module], without: name === 'SagaModule' ? 'sagas' : undefined },
      });
      expect(error).toBeInstanceOf(SagaConfigurationError);
      expect(error.message).toContain(message);
    });
  });

  test('no DataSource', async () => {
    const error = await refusal({ without: 'database' });
    expect(error).toBeInstanceOf(SagaConfigurationError);
    expect(error.message).toMatch(/no TypeORM DataSource.*TypeOrmModule\.forRoot/);
  });

  test('no DataSource of that name', async () => {
    const error = await refusal({ options: { dataSource: 'orders' } });
    expect(error).toBeInstanceOf(SagaConfigurationError);
    expect(error.message).toMatch(/'orders'/);
  });

  test('a database that is not PostgreSQL', async () => {
    const sqlite = {
      isInitialized: true,
      options: { type: 'better-sqlite3' },
      driver: {},
    } as unknown as DataSource;
    @Module({ providers: [{ provide: getDataSourceToken('lite'), useValue: sqlite }] })
    class LiteModule {}
    const error = await refusal({ imports: [LiteModule], options: { dataSource: 'lite' } });
    expect(error).toBeInstanceOf(SagaConfigurationError);
    expect(error.message).toMatch(/PostgreSQL.*'better-sqlite3'/);
  });

  test('options, each with the value given and the fix', async () => {
    const options = {
      schema: 'Saga; DROP',
      maxPayloadBytes: -1,
      retries: 3,
      retry: { attempts: 0, delay: 'soon' },
      compensationRetry: { attempts: 1, jitter: 2 },
      worker: {
        concurrency: 0,
        lease: '1ms',
        pollInterval: 'often',
        shutdownTimeout: -1,
        maxTakeovers: 0.5,
        threads: 1,
      },
    } as unknown as SagaModuleOptions;
    const { message, constructor } = await refusal({ options });
    expect(constructor).toBe(SagaConfigurationError);
    for (const part of [
      /schema is .Saga; DROP./,
      /maxPayloadBytes is -1/,
      /unknown option 'retries'/,
      /retry\.attempts is 0/,
      /retry\.delay/,
      /compensationRetry\.jitter is 2/,
      /worker\.concurrency is 0/,
      /worker\.lease is .1ms..*100 ms/,
      /worker\.pollInterval.*'often'/,
      /worker\.shutdownTimeout/,
      /worker\.maxTakeovers is 0\.5/,
      /unknown option 'worker\.threads'/,
    ]) {
      expect(message).toMatch(part);
    }
  });

  test('options that are made later', async () => {
    const error = await refusal({
      without: 'sagas',
      imports: [SagaModule.forRootAsync({ useFactory: async () => ({ worker: { concurrency: -1 } }) })],
    });
    expect(error).toBeInstanceOf(SagaConfigurationError);
  });
});

test('options may come from other providers', async () => {
  @Injectable()
  class Config {
    readonly schema = 'of_config';
  }
  @Module({ providers: [Config], exports: [Config] })
  class ConfigModule {}
  @Saga()
  class Order {
    @Step() act() {}
  }
  const { sagas } = await apps.start({
    without: 'sagas',
    sagas: [Order],
    imports: [
      SagaModule.forRootAsync({
        imports: [ConfigModule],
        inject: [Config],
        useFactory: ({ schema }: Config) => ({ schema }),
      }),
    ],
  });
  await (await sagas.start(Order, {})).outcome();
  expect(await apps.sql('SELECT status FROM of_config.instance')).toEqual([{ status: 'completed' }]);
});
