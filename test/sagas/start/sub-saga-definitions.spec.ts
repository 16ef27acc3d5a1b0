import { Saga, SagaDefinitionError, Step, type StepContext, SubSaga } from '../../../libs/saga/src/index.js';
import { journal, Journalled } from '../../support/journalled.js';
import { TestApps } from '../../support/test-app.js';

const apps = TestApps.onOwnDatabase();

describe('at start-up', () => {
  test('a sub-saga that is not provided is refused, with the fix', async () => {
    @Saga()
    class ShipmentSaga {
      @Step() send() {}
    }
    @Saga()
    class OrderSaga {
      @SubSaga(() => ShipmentSaga) ship(_ctx: StepContext<object>): object {
        return {};
      }
    }
    const starting = apps.start({ sagas: [OrderSaga] });
    await expect(starting).rejects.toThrow(SagaDefinitionError);
    await expect(starting).rejects.toThrow(
      "OrderSaga, step 'ship': ShipmentSaga is not a saga of this application. Decorate it with @Saga() and add it to the providers",
    );
  });

  test('sagas that start each other without an end are refused', async () => {
    @Saga()
    class Chicken {
      @SubSaga(() => Egg) lay(_ctx: StepContext<object>): object {
        return {};
      }
    }
    @Saga()
    class Egg {
      @SubSaga(() => Chicken) hatch(_ctx: StepContext<object>): object {
        return {};
      }
    }
    await expect(apps.start({ sagas: [Chicken, Egg] })).rejects.toThrow(
      /(Chicken starts Egg starts Chicken|Egg starts Chicken starts Egg), and so on without end/,
    );
  });

  test('those that end by a `when` are not', async () => {
    @Saga({ name: 'countdown' })
    class Countdown extends Journalled {
      @Step() count(ctx: StepContext<{ from: number }>) {
        return this.note(ctx, ctx.input.from);
      }
      @SubSaga(() => Countdown, { when: (ctx: StepContext<{ from: number }>) => ctx.input.from > 0 })
      next(ctx: StepContext<{ from: number }>): { from: number } {
        return { from: ctx.input.from - 1 };
      }
    }
    const { sagas } = await apps.start({ sagas: [Countdown] });
    const { outcome } = await sagas.start(Countdown, { from: 3 });
    expect((await outcome()).status).toBe('completed');
    expect(journal).toEqual(['count', 'count', 'count', 'count']);
  });
});
