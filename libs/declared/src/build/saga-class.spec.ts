import { testOf, withSteps } from '../../../../test/fixtures/declared-saga.js';
import {
  Approval,
  RemoteStep,
  Saga,
  type StepContext,
  Step,
  SubSaga,
  WaitFor,
} from '../../../saga/src/index.js';
import { describeSaga } from '../../../saga/src/diagram.js';
import { declareSaga } from '../index.js';

const SHIP = `
saga: ship-order
steps:
  pack: { exec: { command: [echo, packed] } }
`;

describe('the class of a declared saga', () => {
  test('is described as the same saga written as a class', async () => {
    const declared = await declareSaga(
      `
saga: place-order
version: 3
upgradeFrom: [1, 2]
timeout: 1h
sla: 10m
onFailure: suspend
lockKey: input.id
limit: 5
retention: 30d
redact: [card.number]
retry: { attempts: 7 }
steps:
  reserve:
    http: { url: "http://stock/" }
    compensate: { http: { method: DELETE, url: "http://stock/" } }
    compensationRetry: { attempts: 20 }
    compensateOnFailure: true
    timeout: 5s
    rateLimit: { count: 10, per: 1s }
    limit: { count: 4 }
  charge: { after: [], exec: { command: [charge] }, idempotent: false, probe: { exec: { command: [ask] } } }
  ship: { after: [reserve, charge], join: any, http: { url: "http://ship/" }, forEach: input.lines, itemsAtOnce: 2 }
  paid: { waitFor: { signal: payment-reply, timeout: 15m }, savepoint: { attempts: 3 }, delay: 1m }
  approve: { approval: { timeout: 3d }, when: "input.amount > 1000", pivot: true }
  book: { handler: { name: ledger.book, version: 2 } }
`,
      { checkEnvironment: false },
    );

    @Saga({
      ...{
        name: 'place-order',
        version: 3,
        upgradeFrom: [1, 2],
        timeout: '1h',
        sla: '10m',
        onFailure: 'suspend',
      },
      ...{
        lockKey: () => 'x',
        limit: 5,
        retention: '30d',
        redact: ['card.number'],
        retry: { attempts: 7 },
      },
    })
    class PlaceOrderSaga {
      @Step({
        ...{
          compensate: 'reserve.compensate',
          compensationRetry: { attempts: 20 },
          compensateOnFailure: true,
        },
        ...{ timeout: '5s', rateLimit: { count: 10, per: '1s' }, limit: { count: 4 } },
      })
      reserve() {}
      'reserve.compensate'() {}
      @Step({ after: [], idempotent: false, probe: 'charge.probe', timeout: '10m' })
      charge() {}
      'charge.probe'() {
        return 'unknown' as const;
      }
      @Step({ after: ['reserve', 'charge'], join: 'any', forEach: () => [], itemsAtOnce: 2, timeout: '30s' })
      ship() {}
      @WaitFor({ signal: 'payment-reply', timeout: '15m', savepoint: { attempts: 3 }, delay: '1m' })
      paid(_ctx: StepContext, _payload: unknown) {}
      @Approval({ timeout: '3d', when: () => true, pivot: true })
      approve() {}
      @RemoteStep('ledger.book', { version: 2 })
      book() {
        return {};
      }
    }
    expect(describeSaga(declared)).toEqual(describeSaga(PlaceOrderSaga));
  });

  test('can be a sub-saga of a class', async () => {
    const ship = await declareSaga(SHIP);
    @Saga()
    class OrderSaga {
      @SubSaga(() => ship)
      ship() {
        return {};
      }
    }
    expect((await testOf(OrderSaga).run({})).outcome.results).toEqual({ ship: { pack: 'packed' } });
  });

  test('can start a class as its sub-saga', async () => {
    @Saga({ name: 'book-order' })
    class BookSaga {
      @Step()
      book({ input }: StepContext<{ sku: string }>) {
        return `booked ${input.sku}`;
      }
    }
    const saga = await declareSaga(
      withSteps('book: { subSaga: { saga: book-order, input: { sku: "{{ input.sku }}" } } }'),
      { sagas: [BookSaga] },
    );
    expect((await testOf(saga).run({ sku: 'cup' })).outcome.results).toEqual({
      book: { book: 'booked cup' },
    });
  });
});

describe('a declared saga', () => {
  const WAITS = withSteps(
    'paid: { waitFor: { signal: reply, reject: "payload.status = \'declined\'", result: payload.id } }',
    'approve: { approval: { result: decision.by }, when: "input.amount > 1000" }',
    'note: { exec: { command: [echo, "{{ results.paid }}", "{{ results.approve }}"] } }',
  );

  test('waits for signals and approvals, and uses what they bring', async () => {
    const test = testOf(await declareSaga(WAITS))
      .signal('reply', { id: 'p-1' })
      .approving('approve', 'ada');
    expect((await test.run({ amount: 2_000 })).outcome.results).toEqual({
      ...{ paid: 'p-1', approve: 'ada', note: 'p-1 ada' },
    });
  });

  test('is rejected by a signal that the file refuses', async () => {
    const run = await testOf(await declareSaga(WAITS))
      .signal('reply', { status: 'declined' })
      .run({ amount: 1 });
    expect(run.outcome).toMatchObject({ status: 'compensated', failure: { kind: 'rejected', step: 'paid' } });
  });

  test('checks its input by its JSON Schema', async () => {
    const saga = await declareSaga(
      `input: { type: object, required: [sku], additionalProperties: false, properties: { sku: { type: string } } }\n${SHIP}`,
    );
    await expect(testOf(saga).run({ sku: 5, qty: 1 })).rejects.toMatchObject({
      code: 'SAGA_VALIDATION',
      message: expect.stringMatching(
        /must not have the property 'qty'.*sku.* must be string|sku.*must be string.*qty/s,
      ),
    });
    expect((await testOf(saga).run({ sku: 'cup' })).outcome.status).toBe('completed');
  });

  test('passes the failure matrix of SagaTest', async () => {
    const saga = await declareSaga(
      withSteps(
        'a: { exec: { command: [echo, a] }, compensate: { exec: { command: [echo, "{{ idempotencyKey }}"] } } }',
        'b: { exec: { command: [echo, b] } }',
      ),
    );
    const report = await testOf(saga).everyFailure({}, (run) => {
      expect(['completed', 'compensated']).toContain(run.outcome.status);
    });
    expect(report.points.length).toBeGreaterThan(10);
  });
});
