import { Controller, Injectable, Module, Scope, type Type } from '@nestjs/common';
import {
  type HandlerContext,
  type ObservedEvent,
  type ObservedEventType,
  OnSagaEvent,
  RemoteStep,
  type RemoteInput,
  Saga,
  SagaDefinitionError,
  Step,
  type StepContext,
  StepHandler,
  StepRejectedError,
  SubSaga,
} from '../../../libs/saga/src/index.js';
import { OBSERVED_EVENTS } from '../../../libs/saga/src/definition/types/observed-event.js';
import { Gate, until } from '../../support/gate.js';
import { OrderScene } from '../../support/order-scene.js';
import { TestApps } from '../../support/test-app.js';

const apps = TestApps.onOwnDatabase();

/** Keeps every event that it receives. */
function listener(saga?: Type) {
  const received: ObservedEvent[] = [];
  const of = saga ? ([saga] as const) : ([] as const);
  @Injectable()
  class Listener {
    @OnSagaEvent(OBSERVED_EVENTS, ...of)
    hear(event: ObservedEvent): void {
      received.push(event);
    }
  }
  const types = () =>
    received.map(({ type, ...event }) => ('step' in event ? `${type} ${event.step}` : type));
  return { Listener, received, types };
}

describe('an observer receives', () => {
  test('what happens to a saga, in order, and each thing once it is stored', async () => {
    const scene = new OrderScene();
    const { Listener, received, types } = listener();
    const stored: string[] = [];
    @Injectable()
    class Reader {
      @OnSagaEvent('completed') async read({ id }: ObservedEvent<'completed'>): Promise<void> {
        const [row] = await apps.sql<{ status: string }>('SELECT status FROM saga.instance WHERE id = $1', [
          id,
        ]);
        stored.push(row!.status);
      }
    }
    const { sagas } = await apps.start({ sagas: [scene.saga], providers: [Listener, Reader] });
    scene.charge.open('charged');
    const order = await sagas.start(scene.saga, {}, { correlationId: '1234', tags: { shop: 'a' } });
    await order.outcome();
    expect(types()).toEqual([
      'started',
      'step-completed reserve',
      'step-completed charge',
      'step-completed ship',
      'completed',
    ]);
    const saga = { saga: 'order', version: 1, id: order.id, correlationId: '1234', tags: { shop: 'a' } };
    expect(received.at(-1)).toEqual({
      type: 'completed',
      ...saga,
      at: expect.any(Date),
      status: 'completed',
    });
    expect(Math.abs(received[0]!.at.getTime() - Date.now())).toBeLessThan(60_000);
    await until(() => stored.length > 0);
    expect(stored).toEqual(['completed']);
  });

  test('retries, the rollback, and the failure that caused it', async () => {
    const { Listener, received, types } = listener();
    @Saga({ name: 'order', retry: { attempts: 2, delay: 1 } })
    class Order {
      @Step({ compensate: 'release' }) reserve() {}
      release() {}
      @Step() charge() {
        throw new Error('declined');
      }
    }
    const { sagas } = await apps.start({ sagas: [Order], providers: [Listener] });
    await (await sagas.start(Order, undefined)).outcome();
    expect(types()).toEqual([
      'started',
      'step-completed reserve',
      'step-failed charge',
      'step-failed charge',
      'compensating',
      'step-compensated reserve',
      'compensated',
    ]);
    const error = expect.objectContaining({ message: 'declined' });
    const failure = { kind: 'error', step: 'charge', error };
    expect(received[2]).toMatchObject({ attempt: 1, error, retryAt: expect.any(Date), status: 'running' });
    expect(received[3]).toMatchObject({ attempt: 2, error });
    expect(received[3]).not.toHaveProperty('retryAt');
    expect(received[4]).toMatchObject({ failure, status: 'compensating' });
    expect(received[6]).toMatchObject({ failure, status: 'compensated' });
  });

  test('what makes a saga need an operator, and the operator’s action, in another process', async () => {
    const scene = new OrderScene();
    scene.failing = ['release'];
    const [worker, web] = [listener(), listener()];
    const { sagas } = await apps.start({ sagas: [scene.saga], providers: [worker.Listener] });
    const options = { worker: false } as const;
    const office = await apps.start({ sagas: [scene.saga], providers: [web.Listener], options });
    scene.charge.open(new StepRejectedError('declined'));
    const order = await sagas.start(scene.saga, {});
    await order.outcome();
    expect(worker.received.at(-1)).toMatchObject({
      ...{ type: 'stuck', status: 'stuck', steps: ['reserve'] },
      ...{ error: { message: 'release failed' }, failure: { kind: 'rejected', step: 'charge' } },
    });
    expect(web.types()).toEqual([]);
    scene.failing = [];
    await office.operations.retry(order.id);
    await until(() => worker.types().at(-1) === 'compensated');
    expect(web.types()).toEqual(['retried']);
    expect(worker.types()).not.toContain('retried');
  });

  test('that a saga is aborted where that is asked for, and a transactional step once its transaction commits', async () => {
    const { Listener, types } = listener();
    const [inside, goOn] = [new Gate(), new Gate()];
    @Saga({ name: 'order' })
    class Order {
      @Step({ transactional: true }) book() {}
      @Step() async ship() {
        inside.open();
        await goOn.opened;
      }
    }
    const { sagas, operations } = await apps.start({ sagas: [Order], providers: [Listener] });
    const order = await sagas.start(Order, undefined);
    await inside.opened;
    await operations.abort(order.id);
    goOn.open();
    expect(types()).toEqual(['started', 'step-completed book', 'aborted']);
  });

  test('a pause once the running step has ended, and its end if an operator resumes the saga', async () => {
    const scene = new OrderScene();
    const [worker, web] = [listener(), listener()];
    const { sagas } = await apps.start({ sagas: [scene.saga], providers: [worker.Listener] });
    const options = { worker: false } as const;
    const office = await apps.start({ sagas: [scene.saga], providers: [web.Listener], options });
    const order = await sagas.start(scene.saga, {});
    await scene.charging.opened;
    await office.operations.pause(order.id);
    scene.charge.open('charged');
    await until(() => worker.types().at(-1) === 'paused');
    expect(worker.types()).toEqual(['started', 'step-completed reserve', 'step-completed charge', 'paused']);
    await office.operations.resume(order.id);
    await until(() => worker.types().at(-1) === 'completed');
    expect(web.types()).toEqual(['resumed']);
    expect(worker.types().slice(4)).toEqual(['step-completed ship', 'completed']);
  });

  test('the sagas that others start, those of step handlers included', async () => {
    const { Listener, received } = listener();
    class Stock {
      @StepHandler('stock.reserve') reserve(_ctx: HandlerContext): string {
        return 'reserved';
      }
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
    const { sagas } = await apps.start({ sagas: [Order, Shipment], providers: [Listener, Stock] });
    await (await sagas.start(Order, undefined)).outcome();
    const ends = received.filter(({ type }) => type === 'started' || type === 'completed');
    expect(ends.map(({ type, saga }) => `${saga} ${type}`)).toEqual([
      'order started',
      'handler:stock.reserve started',
      'handler:stock.reserve completed',
      'shipment started',
      'shipment completed',
      'order completed',
    ]);
  });

  test('only of the saga that it names, in all versions of that', async () => {
    @Saga({ name: 'order' })
    class OrderV1 {
      @Step() book() {}
    }
    @Saga({ name: 'order', version: 2 })
    class OrderV2 {
      @Step() book() {}
    }
    @Saga()
    class Other {
      @Step() book() {}
    }
    const { Listener, received } = listener(OrderV1);
    const { sagas } = await apps.start({ sagas: [OrderV1, OrderV2, Other], providers: [Listener] });
    await (await sagas.start(Other, undefined)).outcome();
    await (await sagas.start(OrderV1, undefined)).outcome();
    expect(received.map(({ saga, version, type }) => `${type} of ${saga} ${version}`)).toEqual([
      'started of order 2',
      'step-completed of order 2',
      'completed of order 2',
    ]);
  });

  test('also as a controller, by inheritance, and once where it goes by several tokens', async () => {
    const received: string[] = [];
    class Base {
      @OnSagaEvent('completed') tell(): void {
        received.push('base');
      }
    }
    @Injectable()
    class Derived extends Base {
      override tell(): void {
        received.push('derived');
      }
    }
    @Controller()
    class Desk {
      @OnSagaEvent(['completed', 'stuck']) tell(): void {
        received.push('controller');
      }
    }
    const Made = class extends Base {};
    @Module({
      controllers: [Desk],
      providers: [
        Derived,
        { provide: 'ALIAS', useExisting: Derived },
        { provide: 'MADE', useFactory: () => new Made() },
      ],
    })
    class Alerting {}
    const scene = new OrderScene();
    const { sagas } = await apps.start({ sagas: [scene.saga], imports: [Alerting] });
    scene.charge.open('charged');
    await (await sagas.start(scene.saga, {})).outcome();
    expect(received.sort()).toEqual(['base', 'controller', 'derived']);
  });
});

test('an observer that throws, rejects or hangs changes nothing for the saga, or for other observers', async () => {
  const { Listener, types } = listener();
  @Injectable()
  class Bad {
    @OnSagaEvent(OBSERVED_EVENTS) throws(): void {
      throw new Error('no webhook');
    }
    @OnSagaEvent(OBSERVED_EVENTS) rejects(): Promise<void> {
      return Promise.reject(new Error('no webhook'));
    }
    @OnSagaEvent(OBSERVED_EVENTS) hangs(): Promise<void> {
      return new Promise(() => undefined);
    }
  }
  const scene = new OrderScene();
  const { sagas, close } = await apps.start({
    sagas: [scene.saga],
    providers: [Bad, Listener],
    options: { worker: { shutdownTimeout: '500ms' } },
  });
  scene.charge.open('charged');
  const order = await sagas.start(scene.saga, {});
  expect(await order.outcome()).toMatchObject({ status: 'completed' });
  expect(types()).toHaveLength(5);
  await close();
});

describe('at start-up, an observer is refused', () => {
  const start = (...providers: Type[]) => apps.start({ sagas: [new OrderScene().saga], providers });

  test('of an event that there is not, naming the method and what may be meant', async () => {
    class Alerts {
      @OnSagaEvent('step-complete' as ObservedEventType) tell(): void {}
    }
    await expect(start(Alerts)).rejects.toThrow(SagaDefinitionError);
    await expect(start(Alerts)).rejects.toThrow(
      "Alerts.tell: @OnSagaEvent('step-complete') is not an event of a saga. Did you mean 'step-completed'?",
    );
  });

  test('of a class that is no saga here, or of nothing, each with its fix, all at once', async () => {
    class Unknown {}
    class Alerts {
      @OnSagaEvent('stuck', Unknown) stuck(): void {}
      @OnSagaEvent('stuck', undefined) circular(): void {}
      @OnSagaEvent([]) nothing(): void {}
      @OnSagaEvent('stuck') static of(): void {}
      @OnSagaEvent('stuck') *generate() {
        yield 1;
      }
    }
    const refused = await start(Alerts).catch((error: Error) => error.message);
    expect(refused).toContain(
      'Alerts.stuck: Unknown is not a saga of this application. Decorate it with @Saga()',
    );
    expect(refused).toContain(
      'Alerts.circular: @OnSagaEvent(…, undefined) does not name a class; if it is a class, its file',
    );
    expect(refused).toContain('Alerts.nothing: @OnSagaEvent([]) observes no events');
    expect(refused).toContain('Alerts.of is static');
    expect(refused).toContain('Alerts.generate is a generator, whose body a call does not run. Remove the *');
  });

  test('whose instances come and go with requests', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class Alerts {
      @OnSagaEvent('stuck') tell(): void {}
    }
    await expect(start(Alerts)).rejects.toThrow(
      'Alerts is request-scoped or transient, itself or through a dependency, but its @OnSagaEvent methods run after the end of',
    );
  });
});
