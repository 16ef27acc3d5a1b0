import { Injectable, Module } from '@nestjs/common';
import {
  type CompensationContext,
  Saga,
  SagaOperations,
  SagaService,
  SagaStateError,
  type StartOptions,
  Step,
  type StepContext,
  type TransactionalStepContext,
  WaitFor,
} from 'nestjs-durable-saga';

export interface Trial {
  account: string;
}

@Injectable()
export class Accounts {
  async open(_account: string, _key: string): Promise<void> {}
  async close(_account: string, _key: string): Promise<void> {}
}

/** Two weeks to pay, with a reminder after ten days. An account that is not paid by then is closed. */
@Saga({ name: 'trial' })
export class TrialSaga {
  constructor(private readonly accounts: Accounts) {}

  @Step({ compensate: 'close' })
  open(ctx: StepContext<Trial>): Promise<void> {
    return this.accounts.open(ctx.input.account, ctx.idempotencyKey);
  }
  close(ctx: CompensationContext<Trial, void>): Promise<void> {
    return this.accounts.close(ctx.input.account, ctx.idempotencyKey);
  }

  @WaitFor({ signal: 'paid', timeout: '14d' })
  paid(_ctx: StepContext<Trial>, payment: { plan: string }): { plan: string } {
    return payment;
  }

  /** Evaluated after the ten days: `when` reads the results at that time. */
  @Step({
    after: 'open',
    delay: '10d',
    when: (ctx: StepContext<Trial, TrialSaga>) => ctx.results.paid === undefined,
  })
  remind(ctx: StepContext<Trial>): void {
    ctx.publish({ topic: 'mails', type: 'trial-ends-soon', payload: { account: ctx.input.account } });
  }

  @Step({ after: 'paid' })
  welcome(ctx: StepContext<Trial, TrialSaga>): void {
    const { account } = ctx.input;
    ctx.publish({ topic: 'mails', type: 'welcome', payload: { account, plan: ctx.results.paid.plan } });
  }
}

export interface Renewal {
  subscription: string;
  /** 1, 2, … */
  period: number;
  /** ISO date on which it is due. */
  due: string;
}

@Injectable()
export class Billing {
  async charge(_renewal: Renewal, _key: string): Promise<{ invoice: string }> {
    return { invoice: 'invoice-1' };
  }
  async credit(_invoice: string | undefined, _key: string): Promise<void> {}
}

/** One saga for each period. Its last checkpoint also starts the next one: always exactly one. */
@Saga({ name: 'renewal', retention: '90d' })
export class RenewalSaga {
  constructor(
    private readonly billing: Billing,
    private readonly sagas: SagaService,
  ) {}

  /** A declined card is retried for a week. */
  @Step({ compensate: 'credit', retry: { attempts: 8, delay: '1d', factor: 1 } })
  charge(ctx: StepContext<Renewal>): Promise<{ invoice: string }> {
    return this.billing.charge(ctx.input, ctx.idempotencyKey);
  }
  credit(ctx: CompensationContext<Renewal, { invoice: string }>): Promise<void> {
    return this.billing.credit(ctx.result?.invoice, ctx.idempotencyKey);
  }

  @Step({ transactional: true })
  async planNext(ctx: TransactionalStepContext<Renewal>): Promise<void> {
    await planRenewal(this.sagas, nextOf(ctx.input), { manager: ctx.manager });
  }
}

function nextOf({ subscription, period, due }: Renewal): Renewal {
  const next = new Date(due);
  next.setUTCMonth(next.getUTCMonth() + 1);
  return { subscription, period: period + 1, due: next.toISOString() };
}

/** Due at a date, months ahead: until then it is a row. A second start for a period returns the same saga. */
async function planRenewal(
  sagas: SagaService,
  renewal: Renewal,
  within: Pick<StartOptions, 'manager'> = {},
): Promise<void> {
  const { subscription, period, due } = renewal;
  await sagas.start(RenewalSaga, renewal, {
    ...within,
    correlationId: `${subscription}/${period}`,
    startAt: new Date(due),
    tags: { subscription },
  });
}

@Injectable()
export class Subscriptions {
  constructor(private readonly sagas: SagaService) {}

  begin(subscription: string, firstDue: Date): Promise<void> {
    return planRenewal(this.sagas, { subscription, period: 1, due: firstDue.toISOString() });
  }

  /** Cancels the planned period, and checks again: a period that was being charged may have started the next. */
  async end(subscription: string, by: string): Promise<void> {
    for (;;) {
      const planned = { saga: RenewalSaga, tags: { subscription }, status: 'running' } as const;
      const { items } = await this.sagas.find(planned);
      if (items.length === 0) return;
      for (const { id } of items) {
        try {
          await this.sagas.cancel(id, { by, reason: 'the subscription has ended' });
        } catch (error) {
          if (!(error instanceof SagaStateError)) throw error; // it has already completed
        }
        await this.sagas.wait(id);
      }
    }
  }
}

@Module({ providers: [TrialSaga, Accounts, RenewalSaga, Billing, Subscriptions] })
export class SubscriptionModule {}

export interface Appointment {
  customer: string;
  /** ISO 8601. */
  at: string;
}

const DAY_MS = 86_400_000;

/** A reminder a day before the appointment, and a thank-you once it is over. The times come from the input. */
@Saga({ name: 'appointment', sla: ({ input }: { input: Appointment }) => dayAfter(input) })
export class AppointmentSaga {
  @Step({ delay: (ctx: StepContext<Appointment>) => new Date(Date.parse(ctx.input.at) - DAY_MS) })
  remind(ctx: StepContext<Appointment>): void {
    ctx.publish({ topic: 'mails', type: 'appointment-tomorrow', payload: ctx.input });
  }

  @Step({ delay: (ctx: StepContext<Appointment>) => new Date(ctx.input.at) })
  thank(ctx: StepContext<Appointment>): void {
    ctx.publish({ topic: 'mails', type: 'thank-you', payload: { customer: ctx.input.customer } });
  }
}

/**
 * The appointment has moved. Each step that waits for its old time waits for the new one: the reminder comes a day before,
 * unless it was sent already.
 */
export async function move(
  sagas: SagaService,
  operations: SagaOperations,
  id: string,
  at: Date,
  by: string,
): Promise<void> {
  const { waitingFor } = await sagas.get(id);
  if (waitingFor?.kind !== 'delay' || waitingFor.step === undefined) return;
  const early = waitingFor.step === 'remind' ? DAY_MS : 0;
  await operations.reschedule(id, waitingFor.step, new Date(at.getTime() - early), { by, reason: 'moved' });
}

function dayAfter({ at }: Appointment): Date {
  return new Date(Date.parse(at) + DAY_MS);
}
