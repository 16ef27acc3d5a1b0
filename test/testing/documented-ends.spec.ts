import { Approval, Saga, Step, type StepContext, StepRejectedError } from '../../libs/saga/src/index.js';
import { SagaTest } from '../../libs/saga/src/testing/index.js';

interface Asked {
  north: boolean;
  south: boolean;
}

@Saga({ name: 'ask-warehouses' })
class AskWarehousesSaga {
  @Step({ when: ({ input }: StepContext<Asked>) => input.north }) north() {
    return 'north';
  }
  @Step({ after: [], when: ({ input }: StepContext<Asked>) => input.south }) south() {
    return 'south';
  }
  @Step({ after: ['north', 'south'], join: 'any' }) ship({ results }: StepContext<Asked>) {
    return results;
  }
}

describe("join: 'any'", () => {
  test.each([
    [{ north: false, south: true }, { south: 'south' }],
    [{ north: true, south: false }, { north: 'north' }],
    [{ north: false, south: false }, {}],
  ])('of branches of which %j run goes on with %j: a skipped one does not win', async (input, won) => {
    const { outcome } = await SagaTest.of(AskWarehousesSaga).run(input);
    expect(outcome).toMatchObject({ status: 'completed', results: { ship: won } });
  });
});

let asked = 0;

@Saga({ name: 'pay-once' })
class PayOnceSaga {
  @Step({ compensate: 'release' }) reserve() {}
  release() {}
  @Step({ pivot: true, idempotent: false, timeout: '1s', probe: 'ask', retry: { attempts: 3, delay: 10 } })
  pay(): Promise<void> {
    return new Promise(() => undefined);
  }
  ask() {
    asked += 1;
    return 'unknown' as const;
  }
}

test("an at-most-once pivot whose probe says 'unknown' is asked about once, and left to an operator", async () => {
  const { outcome, trace } = await SagaTest.of(PayOnceSaga).run({});
  expect(outcome).toMatchObject({ status: 'stuck', failure: { kind: 'timeout', step: 'pay' } });
  expect(trace).toEqual(['reserve', 'pay', 'ask']);
  expect(asked).toBe(1);
});

@Saga({ name: 'allow' })
class AllowSaga {
  @Approval() allow() {}
  @Step() pay() {
    throw new StepRejectedError('the card is stolen');
  }
}

test("an approver's rejection and a StepRejectedError are both of kind 'rejected', and differ in the error's code", async () => {
  const byPerson = await SagaTest.of(AllowSaga).rejecting('allow', 'ann').run({});
  expect(byPerson.outcome.failure).toMatchObject({
    ...{ kind: 'rejected', step: 'allow' },
    error: { code: 'SAGA_APPROVAL_REJECTED' },
  });
  const byStep = await SagaTest.of(AllowSaga).approving('allow', 'ann').run({});
  expect(byStep.outcome.failure).toMatchObject({ kind: 'rejected', step: 'pay' });
  expect(byStep.outcome.failure?.error?.code).not.toBe('SAGA_APPROVAL_REJECTED');
});
