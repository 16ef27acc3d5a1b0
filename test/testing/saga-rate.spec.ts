import { Saga, Step, type StepContext, SubSaga } from '../../libs/saga/src/index.js';
import { SagaTest } from '../../libs/saga/src/testing/index.js';

@Saga({ name: 'hourly', rateLimit: { count: 1, per: '1h' } })
class Hourly {
  @Step() work() {}
}

@Saga({ name: 'parent', timeout: '30m' })
class Parent {
  @SubSaga(() => Hourly) first(ctx: StepContext<object>): object {
    return ctx.input;
  }
  @SubSaga(() => Hourly) second(ctx: StepContext<object>): object {
    return ctx.input;
  }
}

test('a rate limit of sagas is kept in virtual time', async () => {
  const { outcome } = await SagaTest.of(Parent).run({});
  expect(outcome).toMatchObject({ status: 'compensated', failure: { kind: 'timeout' } });
});
