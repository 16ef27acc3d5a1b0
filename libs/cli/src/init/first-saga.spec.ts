import { compileFunction } from 'node:vm';
import * as common from '@nestjs/common';
import { check, format } from 'prettier';
import ts from 'typescript';
import { databaseModule } from './database-module.js';
import { firstSaga, type Manner, namesOf } from './first-saga.js';
import { LAYERS } from './layers.js';
import type { NestApp } from './nest-app.js';

const MANNERS: Manner[] = (['', '.js'] as const).flatMap((extension) =>
  [true, false].flatMap((namesInjected) =>
    (['jest', 'vitest'] as const).map((runner) => ({ extension, namesInjected, runner, hasHttp: true })),
  ),
);

/** As nest new formats. */
const FORMAT = { parser: 'typescript', singleQuote: true, trailingComma: 'all' } as const;

describe('the files of a first saga', () => {
  test.each(MANNERS)('are formatted as nest new formats: %j', async (manner) => {
    for (const folder of ['orders', 'checkout'])
      for (const { name, text } of firstSaga(manner, namesOf(folder)))
        expect([name, await check(text, FORMAT)]).toEqual([name, true]);
  });

  test('have names of their own in each folder: classes, files, the route, and therefore the saga', () => {
    const [manner] = MANNERS as [Manner];
    const namesIn = (folder: string) =>
      firstSaga(manner, namesOf(folder)).flatMap(({ name, text }) => [
        name,
        ...[...text.matchAll(/export (?:class|interface) (\w+)|@Controller\('(.*)'\)/g)].map(
          ([, type, route]) => type ?? `/${route}`,
        ),
      ]);
    const shared = ['stock.service.ts', 'StockService', 'payment.service.ts', 'PaymentService'];
    expect(namesIn('orders')).toEqual([
      ...shared,
      ...['place-order.saga.ts', 'PlaceOrder', 'PlaceOrderSaga', 'place-order.saga.spec.ts'],
      ...['orders.controller.ts', '/orders', 'OrdersController', 'orders.module.ts', 'OrdersModule'],
    ]);
    expect(namesIn('shop/checkOut_2')).toEqual([
      ...shared,
      ...[
        'shop-check-out-2.saga.ts',
        'ShopCheckOut2Input',
        'ShopCheckOut2Saga',
        'shop-check-out-2.saga.spec.ts',
      ],
      ...['shop-check-out-2.controller.ts', '/shop-check-out-2', 'ShopCheckOut2Controller'],
      ...['shop-check-out-2.module.ts', 'ShopCheckOut2Module'],
    ]);
    const folders = ['orders', 'shop/orders', 'checkout', 'stock', 'payment', 'saga'];
    const names = folders.flatMap((folder) =>
      [...new Set(namesIn(folder))].filter((one) => !shared.includes(one)),
    );
    expect(new Set(names).size).toBe(names.length);
  });

  describe('the controller', () => {
    const order = { orderId: '1', sku: 'cup', amount: 20 };
    const started: unknown[] = [];
    const sagas = { start: async (_: unknown, input: unknown) => ({ id: String(started.push(input)) }) };
    const controllerOf = () => {
      const { text } = firstSaga(MANNERS[0]!, namesOf('orders')).find(({ name }) =>
        name.includes('controller'),
      )!;
      const { outputText } = ts.transpileModule(text, {
        compilerOptions: { module: ts.ModuleKind.CommonJS, experimentalDecorators: true },
      });
      const found: Record<
        string,
        new (service: typeof sagas) => { place(body?: unknown): Promise<unknown> }
      > = {};
      const load = (from: string): unknown =>
        from === '@nestjs/common'
          ? common
          : { SagaErrorFilter: class {}, SagaService: class {}, PlaceOrderSaga: class {} };
      const run = compileFunction(outputText, ['require', 'exports']) as (...given: unknown[]) => void;
      run(load, found);
      return new found.OrdersController!(sagas);
    };

    test.each([
      undefined,
      null,
      {},
      { ...order, orderId: '' },
      { ...order, sku: 5 },
      { ...order, amount: '20' },
    ])('answers 400 to %j, and starts no saga', async (body) => {
      await expect(controllerOf().place(body)).rejects.toMatchObject({
        status: 400,
        message: 'Give an order: { orderId: string, sku: string, amount: number }',
      });
      expect(started).toEqual([]);
    });

    test('starts a saga with an order', async () => {
      expect(await controllerOf().place(order)).toEqual({ saga: '1' });
      expect(started).toEqual([order]);
    });
  });
});

/** Nothing of it is there, except this version of MikroORM. */
const appWith = (mikroOrm: string) =>
  ({ root: '/nowhere', sourceRoot: 'src', isModule: true, installed: () => mikroOrm }) as unknown as NestApp;

const MODULES = LAYERS.flatMap(({ name, partsOf }) =>
  partsOf ? ['6.6.16', '7.2.1'].map((version) => [name, version, partsOf] as const) : [],
);

describe('the module that connects a database layer', () => {
  test.each(MODULES)(
    'is formatted as nest new formats: %s, beside MikroORM %s',
    async (_, version, partsOf) => {
      const text = databaseModule(partsOf(appWith(version), '.js'));
      expect(await format(text, FORMAT)).toBe(text);
    },
  );
});
