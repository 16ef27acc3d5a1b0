import { Injectable } from '@nestjs/common';
import {
  Approval,
  type CompensationContext,
  Saga,
  Step,
  type StepContext,
  StepRejectedError,
  SubSaga,
  UnknownOutcomeError,
  WaitFor,
} from '../../libs/saga/src/index.js';
import { SagaFailureMatrixError, SagaTest, type SagaTestRun } from '../../libs/saga/src/testing/index.js';

interface PlaceOrder {
  sku: string;
  price: number;
}

@Injectable()
class StockService {
  readonly reserved = new Map<string, string>();
  /** The same key again changes nothing. */
  async reserve(sku: string, key: string) {
    this.reserved.set(key, sku);
    return { id: key };
  }
  async release(id: string) {
    this.reserved.delete(id);
  }
}

@Injectable()
class PaymentService {
  readonly charged = new Map<string, number>();
  async charge(price: number, key: string) {
    this.charged.set(key, price);
    return key;
  }
  async refund(key: string) {
    this.charged.delete(key);
  }
}

@Saga({ name: 'place-order' })
class PlaceOrderSaga {
  constructor(
    private readonly stock: StockService,
    private readonly payments: PaymentService,
  ) {}

  @Step({ compensate: 'releaseStock' })
  reserveStock(ctx: StepContext<PlaceOrder>) {
    return this.stock.reserve(ctx.input.sku, ctx.idempotencyKey);
  }
  async releaseStock(ctx: CompensationContext<PlaceOrder, { id: string }>) {
    await this.stock.release(ctx.result?.id ?? `${ctx.sagaId}:reserveStock`);
  }

  @Step({ compensate: 'refund', retry: { attempts: 5, delay: '1h' }, timeout: '10s' })
  chargeCard(ctx: StepContext<PlaceOrder>) {
    return this.payments.charge(ctx.input.price, ctx.idempotencyKey);
  }
  async refund(ctx: CompensationContext<PlaceOrder, string>) {
    await this.payments.refund(ctx.result ?? `${ctx.sagaId}:chargeCard`);
  }

  @Step() ship() {
    return 'shipped';
  }
}

const input = { sku: 'tea', price: 5 };

function orderTest() {
  const [stock, payments] = [new StockService(), new PaymentService()];
  const test = SagaTest.of(PlaceOrderSaga).provide(StockService, stock).provide(PaymentService, payments);
  return { test, stock, payments };
}

describe('a run', () => {
  it('goes to its end with what was provided, without a database', async () => {
    const { test, stock } = orderTest();
    const run = await test.run(input);
    expect(run.outcome.status).toBe('completed');
    expect(run.outcome.results).toMatchObject({ ship: 'shipped' });
    expect(run.trace).toEqual(['reserveStock', 'chargeCard', 'ship']);
    expect([...stock.reserved.values()]).toEqual(['tea']);
  });

  it('rolls back when a step fails permanently, after all of its attempts, in virtual time', async () => {
    const { test, stock, payments } = orderTest();
    const before = performance.now();
    const run = await test.failing('chargeCard', new Error('declined')).run(input);
    expect(run.outcome).toMatchObject({ status: 'compensated', failure: { error: { message: 'declined' } } });
    expect(run.trace).toEqual(['reserveStock', 'chargeCard', 'releaseStock']);
    expect(run.calls.filter(({ method }) => method === 'chargeCard')).toHaveLength(5);
    expect([stock.reserved.size, payments.charged.size]).toEqual([0, 0]);
    expect(run.took).toBe(4 * 3_600_000);
    expect(performance.now() - before).toBeLessThan(60_000);
  });

  it('goes on after failures that are fewer than the attempts', async () => {
    const run = await orderTest().test.failing('chargeCard', undefined, { times: 2 }).run(input);
    expect(run.outcome.status).toBe('completed');
    expect(run.calls.map(({ method, attempt, outcome }) => [method, attempt, outcome])).toEqual([
      ['reserveStock', 1, 'completed'],
      ['chargeCard', 1, 'failed'],
      ['chargeCard', 2, 'failed'],
      ['chargeCard', 3, 'completed'],
      ['ship', 1, 'completed'],
    ]);
  });

  it.each(['chargeCard', 'reserveStock'] as const)(
    'compensates what timed out after its side effect: %s',
    async (step) => {
      const { test, stock, payments } = orderTest();
      const run = await test.timingOut(step).run(input);
      expect(run.outcome.status).toBe('compensated');
      expect(run.calls.some(({ method, outcome }) => method === step && outcome === 'unknown')).toBe(true);
      expect([stock.reserved.size, payments.charged.size]).toEqual([0, 0]);
    },
  );

  it.each(['before', 'after'] as const)(
    'goes on in another process after a crash %s a checkpoint',
    async (when) => {
      const { test, payments } = orderTest();
      const run = await test.crashing('chargeCard', when).run(input);
      expect(run.outcome.status).toBe('completed');
      expect(run.trace).toEqual(['reserveStock', 'chargeCard', 'ship']);
      expect(run.calls.filter(({ method }) => method === 'chargeCard')).toHaveLength(
        when === 'before' ? 2 : 1,
      );
      expect(payments.charged.size).toBe(1);
      expect(run.missedCrashes).toBe(0);
    },
  );

  it('is the same each time, but for its ids', async () => {
    const traces = await Promise.all(
      Array.from({ length: 3 }, async () => {
        const { took, trace } = await orderTest().test.failing('chargeCard').run(input);
        return { took, trace };
      }),
    );
    expect(traces[1]).toEqual(traces[0]);
    expect(traces[2]).toEqual(traces[0]);
  });

  it('names a method that is not there, and a provider that is missing', async () => {
    const { test } = orderTest();
    await expect(test.failing('chargeCart' as never).run(input)).rejects.toThrow(
      "PlaceOrderSaga has no method 'chargeCart'",
    );
    await expect(SagaTest.of(PlaceOrderSaga).run(input)).rejects.toThrow(/StockService/);
  });
});

describe('what a saga waits for', () => {
  @Saga({ name: 'paid-order' })
  class PaidOrder {
    @WaitFor({ signal: 'paid', timeout: '24h' }) pay(_ctx: object, payload: { by: string }) {
      return payload.by;
    }
    @Approval() release() {}
    @Step() ship(ctx: StepContext) {
      ctx.publish({ topic: 'shipped', payload: { id: 1 } });
    }
  }

  it('is given by the test, step by step', async () => {
    const run = await SagaTest.of(PaidOrder).start({});
    expect(run.waitingFor).toMatchObject({ kind: 'signal', signal: 'paid' });
    await run.signal('paid', { by: 'card' });
    expect(run.waitingFor).toMatchObject({ kind: 'approval', step: 'release' });
    await run.approve('release');
    expect(run.outcome).toMatchObject({ status: 'completed', results: { pay: 'card' } });
    expect(run.published).toMatchObject([{ topic: 'shipped', payload: { id: 1 } }]);
  });

  it('comes by itself, if the test has said so', async () => {
    const test = SagaTest.of(PaidOrder).signal('paid', { by: 'card' });
    expect((await test.approving('release').run({})).outcome.status).toBe('completed');
    const rejected = await test.rejecting('release').run({});
    expect(rejected.outcome).toMatchObject({ status: 'compensated', failure: { kind: 'rejected' } });
  });

  it('may not come in time', async () => {
    const run = await SagaTest.of(PaidOrder).start({});
    await run.advance('23h');
    expect(run.outcome.status).toBe('running');
    await run.advance('1h');
    expect(run.outcome).toMatchObject({ status: 'compensated', failure: { kind: 'timeout' } });
  });
});

it('sub-sagas come along, and are undone with their parent', async () => {
  const world = new Set<string>();
  @Saga({ name: 'part' })
  class Part {
    @Step({ compensate: 'destroy' }) make() {
      world.add('part');
    }
    destroy() {
      world.delete('part');
    }
  }
  @Saga({ name: 'whole' })
  class Whole {
    @SubSaga(() => Part) parts() {
      return {};
    }
    @Step() deliver() {}
  }
  const run = await SagaTest.of(Whole).failing('deliver', new StepRejectedError('no recipient')).run({});
  expect(run.outcome.status).toBe('compensated');
  expect(run.trace).toEqual(['parts', 'make', 'deliver', 'destroy']);
  expect(world.size).toBe(0);
});

describe('every failure', () => {
  const orderIsWhole =
    ({ stock, payments }: ReturnType<typeof orderTest>) =>
    (run: SagaTestRun<PlaceOrderSaga>) => {
      const expected = run.outcome.status === 'completed' ? 1 : 0;
      expect([run.outcome.status, stock.reserved.size, payments.charged.size]).toEqual([
        expect.stringMatching(/^(completed|compensated)$/),
        expected,
        expected,
      ]);
    };
  const afresh = ({ stock, payments }: ReturnType<typeof orderTest>) => ({
    beforeEach: () => {
      stock.reserved.clear();
      payments.charged.clear();
    },
  });

  it('is walked: each step rejected, timing out, each compensation failing once, crashes at each checkpoint', async () => {
    const scene = orderTest();
    const report = await scene.test.everyFailure(input, orderIsWhole(scene), afresh(scene));
    const names = report.points.map(({ name }) => name);
    expect(names).toEqual(
      expect.arrayContaining([
        'nothing fails',
        'chargeCard is rejected',
        'chargeCard times out after its side effect',
        'refund fails once',
        'the process crashes before checkpoint 1, going forward',
        'the process crashes after checkpoint 3, when ship is rejected',
      ]),
    );
    expect(new Set(names).size).toBe(names.length);
    expect(String(report)).toContain(`place-order: all ${names.length} failure cases pass`);
  });

  it('says at which points an assertion does not hold', async () => {
    const scene = orderTest();
    const forgetful = {
      ...scene.payments,
      refund: async () => undefined,
      charge: scene.payments.charge.bind(scene.payments),
    };
    const walk = scene.test
      .provide(PaymentService, forgetful)
      .everyFailure(input, orderIsWhole(scene), afresh(scene));
    const error = (await walk.then(undefined, (thrown: unknown) => thrown)) as SagaFailureMatrixError;
    expect(error).toBeInstanceOf(SagaFailureMatrixError);
    const wrong = error.report.points.filter(({ problem }) => problem).map(({ name }) => name);
    expect(wrong).toContain('ship is rejected');
    expect(wrong).not.toContain('reserveStock is rejected');
    expect(error.message).toMatch(
      /✗ ship is rejected: compensated \(reserveStock → chargeCard → ship → refund/,
    );
  });

  it('leaves out steps behind a pivot, which cannot be compensated', async () => {
    const undone: string[] = [];
    @Saga({ name: 'launch', retry: { attempts: 1 } })
    class Launch {
      @Step({ compensate: 'drain' }) fuel() {}
      drain() {
        undone.push('drain');
      }
      @Step({ pivot: true, timeout: '1s' }) ignite() {}
      @Step() announce() {}
    }
    const report = await SagaTest.of(Launch).everyFailure({}, () => undefined);
    const statusOf = (name: string) => report.points.find((point) => point.name === name)?.status;
    expect(statusOf('ignite is rejected')).toBe('compensated');
    expect(statusOf('announce is rejected')).toBe('stuck');
    expect(statusOf('drain fails once')).toBe('compensated');
    expect(statusOf('ignite times out after its side effect')).toBe('stuck');
  });
});

it('an error of the step that cannot tell is no different from a timeout', async () => {
  const { test } = orderTest();
  const run = await test.failing('ship', new UnknownOutcomeError('the line went dead')).run(input);
  expect(run.outcome.status).toBe('compensated');
});
