import { Saga, Step } from '../../libs/saga/src/index.js';
import { SagaTest } from '../../libs/saga/src/testing/index.js';

@Saga({ name: 'fan-out' })
class FanOutSaga {
  @Step({ forEach: ({ input }: { input: number }) => Array.from({ length: input }, (_, n) => n) })
  ship(): number {
    return 1;
  }
}

describe('a step over items', () => {
  test('runs over a thousand of them', async () => {
    const run = await SagaTest.of(FanOutSaga).run(1_000);
    expect(run.snapshot.status).toBe('completed');
    expect(run.snapshot.steps.find(({ name }) => name === 'ship')!.result).toHaveLength(1_000);
  });

  test('fails over more, and says which step, how many, the bound and what to do instead', async () => {
    const run = await SagaTest.of(FanOutSaga).run(100_001);
    expect(run.snapshot.status).toBe('compensated');
    const { error } = run.snapshot.failure!;
    expect(error).toMatchObject({ name: 'SagaPayloadError', code: 'SAGA_PAYLOAD' });
    expect(error!.message).toMatch(
      /step 'ship' returned 100001 items; the limit is 100000.*batches.*sub-sagas/,
    );
  });
});
