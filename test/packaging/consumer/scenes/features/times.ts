import assert from 'node:assert/strict';
import { Injectable } from '@nestjs/common';
import {
  Approval,
  type ObservedEvent,
  OnSagaEvent,
  Saga,
  type SagaOperations,
  type SagaService,
  SagaStateError,
  SagaValidationError,
  Step,
  type StepContext,
  WaitFor,
} from 'nestjs-durable-saga';
import { eventually } from '../eventually.js';

interface Appointment {
  at: string;
}

@Saga()
class AppointmentSaga {
  @Step()
  plan(ctx: StepContext<Appointment>): { at: string } {
    return { at: ctx.input.at };
  }
  /** From a result: a date. */
  @Step({ delay: (ctx: StepContext<Appointment, AppointmentSaga>) => new Date(ctx.results.plan.at) })
  remind(): string {
    return 'reminded';
  }
  /** From the input: a duration. */
  @Step({ delay: (ctx: StepContext<Appointment>) => (ctx.input.at ? '100ms' : '1h') })
  thank(): string {
    return 'thanked';
  }
}

interface Patience {
  ms: number;
}

@Saga()
class WaitSaga {
  @WaitFor({ signal: 'reply', timeout: (ctx: StepContext<Patience>) => ctx.input.ms })
  reply(_ctx: StepContext<Patience>, payload: string): string {
    return payload;
  }
}

@Saga()
class AskSaga {
  @Approval({ timeout: (ctx: StepContext<Patience>) => `${ctx.input.ms}ms` })
  ask(ctx: StepContext<Patience>): string {
    return ctx.step;
  }
}

@Saga({
  timeout: (ctx: { input: Patience }) => new Date(Date.now() + ctx.input.ms),
  sla: (ctx: { input: Patience }) => ctx.input.ms / 20,
})
class DeadlineSaga {
  @WaitFor({ signal: 'never' })
  hold(): void {}
}

const delays: { attempt: number; message: string }[] = [];

@Saga()
class BackoffSaga {
  @Step({ retry: { attempts: 3, delay: '50ms', backoff: 'fixed', jitter: 0 } })
  fixed({ attempt }: StepContext): number {
    if (attempt < 3) throw new Error(`fixed ${attempt}`);
    return attempt;
  }
  @Step({ retry: { attempts: 3, delay: '20ms', factor: 2, backoff: 'exponential' } })
  exponential({ attempt }: StepContext): number {
    if (attempt < 3) throw new Error(`exponential ${attempt}`);
    return attempt;
  }
  @Step({
    retry: {
      attempts: 2,
      backoff: (attempt, error) => {
        delays.push({ attempt, message: (error as Error).message });
        return '1h';
      },
    },
  })
  computed({ attempt }: StepContext): number {
    if (attempt < 2) throw new Error('computed');
    return attempt;
  }
}

const overdue: string[] = [];

@Injectable()
class LateSagas {
  @OnSagaEvent('overdue')
  record(event: ObservedEvent<'overdue'>): void {
    overdue.push(event.id);
  }
}

export const timeSagas = [AppointmentSaga, WaitSaga, AskSaga, DeadlineSaga, BackoffSaga, LateSagas];

const HOUR = 3_600_000;

export async function delaysFromTheData(sagas: SagaService, operations: SagaOperations): Promise<void> {
  const at = new Date(Date.now() + HOUR);
  const { id, outcome } = await sagas.start(AppointmentSaga, { at: at.toISOString() });
  const waitsUntil = (time: Date) =>
    eventually(async () => {
      const { waitingFor } = await sagas.get(id);
      assert.ok(waitingFor?.kind === 'delay');
      assert.equal(waitingFor.until.getTime(), time.getTime());
    });
  await waitsUntil(at);
  const moved = new Date(at.getTime() + HOUR);
  await operations.reschedule(id, 'remind', moved, { by: 'ann', reason: 'moved' });
  await waitsUntil(moved);
  await assert.rejects(operations.reschedule(id, 'thank', '1s'), SagaStateError);
  await operations.reschedule(id, 'remind', '10ms');
  const { status, results } = await outcome({ timeout: '20s' });
  assert.deepEqual([status, results.thank], ['completed', 'thanked']);
  const wrong = await (await sagas.start(AppointmentSaga, { at: 'no date' })).outcome();
  assert.deepEqual([wrong.status, wrong.failure?.step], ['compensated', 'remind']);
}

export async function timeoutsFromTheData(sagas: SagaService): Promise<void> {
  const wait = await sagas.start(WaitSaga, { ms: 200 });
  assert.equal((await wait.outcome()).failure?.kind, 'timeout');
  const ask = await sagas.start(AskSaga, { ms: 200 });
  assert.equal((await ask.outcome()).failure?.kind, 'timeout');
  const deadline = await sagas.start(DeadlineSaga, { ms: 8000 });
  await eventually(async () => assert.ok((await sagas.get(deadline.id)).overdue));
  assert.ok((await sagas.find({ overdue: true })).items.some(({ id }) => id === deadline.id));
  await eventually(() => assert.deepEqual(overdue, [deadline.id]));
  const { status, failure } = await deadline.outcome();
  assert.deepEqual([status, failure?.kind], ['compensated', 'timeout']);
  await assert.rejects(sagas.start(DeadlineSaga, { ms: 'soon' as unknown as number }), SagaValidationError);
}

export async function rescheduleWaits(sagas: SagaService, operations: SagaOperations): Promise<void> {
  const wait = await sagas.start(WaitSaga, { ms: HOUR });
  await eventually(() => operations.reschedule(wait.id, 'reply', '100ms'));
  assert.equal((await wait.outcome()).failure?.kind, 'timeout');
}

export async function backoff(sagas: SagaService, operations: SagaOperations): Promise<void> {
  const { id, outcome } = await sagas.start(BackoffSaga, undefined);
  const { waitingFor } = await eventually(async () => {
    const saga = await sagas.get(id);
    assert.equal(saga.waitingFor?.kind, 'retry');
    assert.equal(saga.step, 'computed');
    return saga;
  });
  assert.ok(waitingFor?.kind === 'retry' && waitingFor.at.getTime() > Date.now() + HOUR * 0.9);
  assert.deepEqual(delays, [{ attempt: 1, message: 'computed' }]);
  await operations.reschedule(id, 'computed', new Date());
  const { results } = await outcome();
  assert.deepEqual(results, { fixed: 3, exponential: 3, computed: 2 });
}
