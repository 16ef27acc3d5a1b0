import { Saga, SagaDefinitionError, Step } from '../../../libs/saga/src/index.js';
import { TestApps } from '../../support/test-app.js';

const apps = TestApps.onOwnDatabase();

describe('a saga', () => {
  test('is found as well if a factory or a value provides it, and refused if it is not decorated', async () => {
    class Prices {
      readonly price = 5;
    }
    @Saga({ name: 'priced' })
    class Priced {
      constructor(private readonly prices: Prices) {}
      @Step() price() {
        return this.prices.price;
      }
    }
    const made = [
      { provide: Priced, useFactory: (prices: Prices) => new Priced(prices), inject: [Prices] },
      { provide: Priced, useValue: new Priced(new Prices()) },
      { provide: 'the saga', useFactory: async () => new Priced(new Prices()) },
    ];
    for (const provider of made) {
      const { sagas, close } = await apps.start({ sagas: [Prices, provider] });
      expect((await (await sagas.start(Priced, {})).outcome()).results).toEqual({ price: 5 });
      await close();
    }
    class Undecorated {
      @Step() a() {}
    }
    const value = { provide: Undecorated, useValue: new Undecorated() };
    await expect(apps.start({ sagas: [value] })).rejects.toThrow(
      'Undecorated has steps (a), but is not a saga',
    );
  });

  test('may have no step and no compensation that Nest would call as a hook', async () => {
    @Saga({ name: 'hooked' })
    class Hooked {
      @Step() onModuleInit() {}
      @Step({ compensate: 'onApplicationShutdown' }) pay() {}
      onApplicationShutdown() {}
    }
    const start = apps.start({ sagas: [Hooked] });
    await expect(start).rejects.toThrow(SagaDefinitionError);
    await expect(start).rejects.toThrow('Nest calls a method of this name itself');
    await expect(start).rejects.toThrow("compensate is 'onApplicationShutdown', which Nest calls itself");
  });
});
