import assert from 'node:assert/strict';
import {
  type CompensationContext,
  Saga,
  type SagaOperations,
  type SagaService,
  SagaStateError,
  Step,
  type StepContext,
  StepRejectedError,
  WaitFor,
} from 'nestjs-durable-saga';
import { eventually } from '../eventually.js';

@Saga({ name: 'trip' })
class TripSaga {
  @Step()
  flight(): string {
    return 'LH 1';
  }
  @Step({ onFailure: 'continue', compensate: 'cancelCar', timeout: '100ms', retry: { attempts: 1 } })
  async car(): Promise<string | undefined> {
    return new Promise(() => {});
  }
  cancelCar(ctx: CompensationContext<unknown, string | undefined>): void {
    assert.equal(ctx.result, undefined);
    cancelledCars += 1;
  }
  @Step()
  tickets(ctx: StepContext<unknown, TripSaga>): string {
    return `${ctx.results.flight}, car ${ctx.results.car ?? 'not booked'}`;
  }
}
let cancelledCars = 0;

@Saga({ name: 'sale' })
class SaleSaga {
  @Step({ compensate: 'release' })
  reserve(): void {}
  release(): void {}
  @WaitFor({ signal: 'confirm' })
  confirm(): void {}
  @Step({ pivot: true, retry: { attempts: 5, delay: '1h' } })
  async pay({ attempt }: StepContext): Promise<void> {
    if (attempt === 1) throw new Error('busy');
  }
}

const hung: number[] = [];

@Saga({ name: 'hang' })
class HangSaga {
  @Step({ compensate: 'undoIt', retry: { attempts: 2, delay: '10ms' } })
  async doIt({ attempt }: StepContext): Promise<string> {
    hung.push(attempt);
    if (attempt === 1) await new Promise(() => {});
    return 'done';
  }
  async undoIt({ attempt }: CompensationContext<unknown, string>): Promise<void> {
    if (attempt === 1) await new Promise(() => {});
  }
  @Step()
  async more(): Promise<string> {
    return new Promise(() => {});
  }
  @WaitFor({ signal: 'never' })
  hold(_ctx: StepContext, payload: string): string {
    return payload;
  }
  @Step()
  end(): void {
    throw new StepRejectedError('refused');
  }
}

@Saga({ name: 'purchase' })
class PurchaseSaga {
  @Step()
  reserve(): void {}
  @Step()
  charge(): string {
    return 'charged';
  }
}

export const operatorSagas = [TripSaga, SaleSaga, HangSaga, PurchaseSaga];
const why = { by: 'ann', reason: 'the bank does not answer' };

export async function optionalStep(sagas: SagaService): Promise<void> {
  const { id, outcome } = await sagas.start(TripSaga, undefined);
  const { status, results } = await outcome();
  assert.deepEqual([status, results.tickets], ['completed', 'LH 1, car not booked']);
  assert.equal(cancelledCars, 1);
  const car = (await sagas.get(id)).steps.find(({ name }) => name === 'car')!;
  assert.deepEqual([car.continued, car.status], [true, 'compensated']);
}

export async function cancelUnlessBegun(sagas: SagaService, operations: SagaOperations): Promise<void> {
  const early = await sagas.start(SaleSaga, undefined);
  await eventually(async () => assert.equal((await sagas.get(early.id)).waitingFor?.kind, 'signal'));
  await sagas.cancel(early.id, { unlessBegun: 'pay', reason: 'the customer called' });
  assert.equal((await early.outcome()).status, 'compensated');

  const late = await sagas.start(SaleSaga, undefined);
  await sagas.signal(late.id, 'confirm');
  await eventually(async () => assert.equal((await sagas.get(late.id)).waitingFor?.kind, 'retry'));
  await assert.rejects(sagas.cancel(late.id, { unlessBegun: 'pay' }), SagaStateError);
  await operations.retryNow(late.id, { ...why });
  assert.equal((await late.outcome()).status, 'completed');
}

export async function outOfAHang(sagas: SagaService, operations: SagaOperations): Promise<void> {
  const { id, outcome } = await sagas.start(HangSaga, undefined);
  const running = (step: string) =>
    eventually(async () => {
      const { steps } = await sagas.get(id);
      assert.ok(steps.find(({ name }) => name === step)!.runningSince);
    });
  await running('doIt');
  await operations.abandon(id, 'doIt', why);
  await running('more');
  assert.deepEqual(hung, [1, 2]);
  await operations.resolve(id, 'more', { result: 'by telephone', ...why });
  await eventually(async () => assert.equal((await sagas.get(id)).waitingFor?.kind, 'signal'));
  await operations.resolve(id, 'hold', { result: 'elsewhere', ...why });
  await eventually(async () => assert.equal((await sagas.get(id)).status, 'compensating'));
  await running('doIt');
  await operations.abandon(id, 'doIt', why);
  const { status, results } = await outcome();
  assert.deepEqual([status, results], ['compensated', { more: 'by telephone', hold: 'elsewhere' }]);
  const history = await operations.history(id);
  assert.deepEqual(
    history.map(({ action, step, by }) => [action, step, by]),
    [
      ['abandon', 'doIt', 'ann'],
      ['resolve', 'more', 'ann'],
      ['resolve', 'hold', 'ann'],
      ['abandon', 'doIt', 'ann'],
    ],
  );
  const { items } = await sagas.find({
    saga: HangSaga,
    status: 'compensated',
    errorCode: 'SAGA_STEP_REJECTED',
    startedAt: { from: new Date(0), to: new Date() },
    endedAt: { from: new Date(0), to: new Date() },
  });
  assert.deepEqual(
    items.map((saga) => saga.id),
    [id],
  );
}

export async function pausedStep(sagas: SagaService, operations: SagaOperations): Promise<void> {
  await operations.pauseStep(PurchaseSaga, 'charge', { by: 'ann', reason: 'payments are down' });
  const { id, outcome } = await sagas.start(PurchaseSaga, undefined);
  await eventually(async () => {
    const { waitingFor } = await sagas.get(id);
    assert.ok(waitingFor?.kind === 'paused-step');
    assert.deepEqual(
      [waitingFor.step, waitingFor.by, waitingFor.reason],
      ['charge', 'ann', 'payments are down'],
    );
  });
  const { items } = await operations.pausedSteps();
  assert.deepEqual(
    items.map(({ saga, step }) => [saga, step]),
    [['purchase', 'charge']],
  );
  await operations.resumeStep('purchase', 'charge');
  assert.equal((await outcome()).results.charge, 'charged');
}
