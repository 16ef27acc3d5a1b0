import { ForbiddenException, Injectable, Module } from '@nestjs/common';
import {
  Approval,
  type ApprovalDecision,
  type Page,
  Saga,
  SagaService,
  Step,
  type StepContext,
  StepRejectedError,
  WaitFor,
} from 'nestjs-durable-saga';
import type { ApprovalTask } from 'nestjs-durable-saga/operators';

export interface Payout {
  id: string;
  to: string;
  cents: number;
  requestedBy: string;
}

@Injectable()
export class Bank {
  async transfer(_payout: Payout, key: string): Promise<{ transfer: string }> {
    return { transfer: key };
  }
}

/** One approver decides, within three days. */
@Saga({ name: 'small-payout' })
export class SmallPayoutSaga {
  constructor(private readonly bank: Bank) {}

  @Approval({ timeout: '3d', when: (ctx: StepContext<Payout>) => ctx.input.cents > 100_00 })
  approve(_ctx: StepContext<Payout>, decision: ApprovalDecision): { by: string } {
    return { by: decision.by };
  }

  @Step()
  transfer(ctx: StepContext<Payout>): Promise<{ transfer: string }> {
    return this.bank.transfer(ctx.input, ctx.idempotencyKey);
  }
}

/** Four eyes: two approvers, and neither of them has requested the payout. */
@Saga({ name: 'large-payout', timeout: '14d' })
export class LargePayoutSaga {
  constructor(private readonly bank: Bank) {}

  @Approval({ quorum: 2 })
  approve(ctx: StepContext<Payout>, { approvals = [] }: ApprovalDecision): { by: string[] } {
    const by = approvals.map((approval) => approval.by);
    // The last line of defence: the approvers' page checks this before.
    if (by.includes(ctx.input.requestedBy)) throw new StepRejectedError('the requester has approved it');
    return { by };
  }

  @Step()
  transfer(ctx: StepContext<Payout>): Promise<{ transfer: string }> {
    return this.bank.transfer(ctx.input, ctx.idempotencyKey);
  }
}

/** The approvers' pages call this. Authenticate `user` first: the saga does not check it. */
@Injectable()
export class PayoutDecisions {
  constructor(private readonly sagas: SagaService) {}

  async approve(id: string, step: string, user: string): Promise<void> {
    const { input } = await this.sagas.get(id);
    if ((input as Payout).requestedBy === user)
      throw new ForbiddenException('another approver must decide this');
    await this.sagas.approve(id, step, { by: user });
  }

  async reject(id: string, step: string, user: string, why: string): Promise<void> {
    await this.sagas.reject(id, step, { by: user, comment: why });
  }
}

/** The approvers' page: what waits for a decision, the oldest first. */
@Injectable()
export class PayoutTasks {
  constructor(private readonly sagas: SagaService) {}

  /** @param cursor the `next` of the page before */
  page(cursor?: string): Promise<Page<ApprovalTask>> {
    return this.sagas.tasks({ saga: LargePayoutSaga, limit: 20, cursor });
  }
}

/** A decision that may be a rejection: it is sent as a signal, so that a rejection is a result and not a failure. */
export interface Decision {
  by: string;
  granted: boolean;
}

/** The team lead is asked, and after two days the director too. The first answer decides. */
@Saga({ name: 'escalated-payout' })
export class EscalatedPayoutSaga {
  constructor(private readonly bank: Bank) {}

  @Step()
  askLead(ctx: StepContext<Payout>): void {
    ctx.publish({ topic: 'tasks', type: 'decide', payload: { role: 'lead', payout: ctx.input.id } });
  }

  @WaitFor({ signal: 'lead', timeout: '7d' })
  lead(_ctx: StepContext<Payout>, decision: Decision): Decision {
    return decision;
  }

  @Step({ after: 'askLead', delay: '2d' })
  askDirector(ctx: StepContext<Payout>): void {
    ctx.publish({ topic: 'tasks', type: 'decide', payload: { role: 'director', payout: ctx.input.id } });
  }

  @WaitFor({ signal: 'director', timeout: '5d' })
  director(_ctx: StepContext<Payout>, decision: Decision): Decision {
    return decision;
  }

  @Step({ after: ['lead', 'director'], join: 'any' })
  decide(ctx: StepContext<Payout, EscalatedPayoutSaga>): Decision {
    const decision = ctx.results.lead ?? ctx.results.director;
    if (!decision.granted) throw new StepRejectedError(`${decision.by} said no`);
    return decision;
  }

  @Step()
  transfer(ctx: StepContext<Payout>): Promise<{ transfer: string }> {
    return this.bank.transfer(ctx.input, ctx.idempotencyKey);
  }
}

@Module({
  providers: [Bank, SmallPayoutSaga, LargePayoutSaga, EscalatedPayoutSaga, PayoutDecisions, PayoutTasks],
  exports: [PayoutDecisions, PayoutTasks],
})
export class PayoutModule {}
