import { Saga, Step } from '../../libs/saga/src/index.js';
import { SagaTest } from '../../libs/saga/src/testing/index.js';

let inside = 0;
let most = 0;

@Saga({ name: 'mailing', retry: { attempts: 2 } })
class Mailing {
  @Step({
    forEach: () => ['a', 'b', 'a', 'b'],
    limit: { count: 1, key: ({ item }) => item },
  })
  async send() {
    inside += 1;
    most = Math.max(most, inside);
    await Promise.resolve();
    inside -= 1;
  }
  @Step({ limit: { count: 1 }, compensate: 'forget' }) note() {}
  forget() {}
}

test('SagaTest keeps the limit of a step between the items of its saga', async () => {
  const { outcome } = await SagaTest.of(Mailing).run({});
  expect(outcome.status).toBe('completed');
  expect(most).toBe(2);
});

test('each failure of a step with a limit ends its saga', async () => {
  let runs = 0;
  await SagaTest.of(Mailing).everyFailure({}, ({ outcome }) => {
    runs += 1;
    expect(['completed', 'compensated', 'stuck']).toContain(outcome.status);
  });
  expect(runs).toBeGreaterThan(3);
});
