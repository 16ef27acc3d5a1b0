/**
 * What @WaitFor and @Approval check, and what publish() takes. Compiled with the tests' type check; there is
 * nothing to run.
 */
import {
  Approval,
  type ApprovalDecision,
  type CompensationContext,
  type ResultsOf,
  Saga,
  Step,
  type StepContext,
  WaitFor,
} from 'nestjs-durable-saga';
import type { Equal, Expect } from './expect.js';

interface Order {
  amount: number;
}
interface Reply {
  payment: string;
}

@Saga()
export class AcceptedSaga {
  @Step()
  request(ctx: StepContext<Order>): void {
    ctx.publish({ topic: 'payments', payload: { amount: ctx.input.amount } });
    ctx.publish({ topic: 'payments', key: 'a', type: 'charge', payload: null, headers: { tenant: 'a' } });
  }

  @WaitFor({ signal: 'payment-reply', timeout: '15m', compensate: 'refund', after: 'request' })
  reply(_ctx: StepContext<Order>, reply: Reply): { paid: string } {
    return { paid: reply.payment };
  }
  refund(ctx: CompensationContext<Order, { paid: string }>): void {
    ctx.publish({ topic: 'payments', type: 'refund', payload: ctx.result?.paid });
  }

  @Approval({ after: ['request', 'reply'], join: 'any', when: () => true, delay: '1m', pivot: true })
  async release(_ctx: StepContext<Order>, decision: ApprovalDecision): Promise<{ by: string; at: Date }> {
    return Promise.resolve({ by: decision.by, at: new Date(decision.at) });
  }

  @Approval({ savepoint: true })
  again(): void {}

  @Step({ after: ['reply', 'release'] })
  end(ctx: StepContext<Order, AcceptedSaga>): number {
    return ctx.results.reply.paid.length + ctx.results.release.at.length;
  }
}

export type ResultIsTheMethods = Expect<Equal<ResultsOf<AcceptedSaga>['reply'], { paid: string }>>;

export class RejectedSaga {
  // @ts-expect-error -- it has to be said what to wait for
  @WaitFor({})
  withoutSignal(): void {}

  // @ts-expect-error -- no method has this name
  @WaitFor({ signal: 'a', compensate: 'refnd' })
  wrongCompensation(): void {}

  // @ts-expect-error -- it expects another result than the step has
  @WaitFor({ signal: 'a', compensate: 'refundNumber' })
  wrongResult(_ctx: StepContext<Order>, reply: Reply): string {
    return reply.payment;
  }
  refundNumber(ctx: CompensationContext<Order, number>): number | undefined {
    return ctx.result;
  }

  // @ts-expect-error -- a wait runs once
  @WaitFor({ signal: 'a', forEach: () => [1] })
  forEachItem(): void {}

  // @ts-expect-error -- an approver's decision has another type
  @Approval()
  wrongDecision(_ctx: StepContext<Order>, decision: { amount: number }): number {
    return decision.amount;
  }

  @Step()
  wrongMessage(ctx: StepContext<Order>): void {
    // @ts-expect-error -- a message has a topic
    ctx.publish({ payload: 1 });
    // @ts-expect-error -- headers are strings
    ctx.publish({ topic: 'a', payload: 1, headers: { n: 1 } });
  }
}
