/** What a step's method sees of its saga. Compiled with the tests' type check; there is nothing to run. */
import {
  type CompensationContext,
  Saga,
  Step,
  type StepContext,
  type TransactionalStepContext,
} from 'nestjs-durable-saga';
import type { EntityManager } from 'typeorm';
import type { Equal, Expect } from './expect.js';

interface Order {
  sku: string;
  at: Date;
}

@Saga()
export class OrderSaga {
  @Step({ compensate: 'release' })
  reserve(_ctx: StepContext<Order, OrderSaga>): { id: string; until: Date } {
    return { id: '1', until: new Date() };
  }
  release(ctx: CompensationContext<Order, { id: string; until: Date }, OrderSaga>): void {
    // @ts-expect-error -- the outcome may be unknown
    void ctx.result.id;
    void ctx.results.charge.toFixed();
  }

  // A step that returns what it reads from `results` says its type, or the compiler would go in a circle.
  @Step()
  charge(ctx: StepContext<Order, OrderSaga>): number {
    const until: string = ctx.results.reserve.until;
    // @ts-expect-error -- no such step
    void ctx.results.reserved;
    // @ts-expect-error -- a Date is stored as text
    void ctx.results.reserve.until.getTime;
    // @ts-expect-error -- a compensation has no result
    void ctx.results.release;
    // @ts-expect-error -- results are not to be changed
    ctx.results.reserve = { id: '2', until };
    return until.length;
  }

  @Step()
  ship(ctx: StepContext<Order, OrderSaga>): void {
    void [ctx.input.at.slice(0, 10), ctx.results.charge.toFixed()];
    // @ts-expect-error -- the input, too, is in its stored form
    void ctx.input.at.getTime;
    // @ts-expect-error -- no such property
    void ctx.input.quantity;
    // @ts-expect-error -- only a transactional step certainly has a manager
    void ctx.manager.queryRunner;
    // @ts-expect-error -- a context is not to be changed
    ctx.attempt = 2;
  }
}

export type OfAContext = [
  Expect<Equal<StepContext<Order>['input'], { sku: string; at: string }>>,
  Expect<Equal<StepContext['input'], unknown>>,
  Expect<Equal<StepContext['manager'], EntityManager | undefined>>,
  Expect<Equal<TransactionalStepContext['manager'], EntityManager>>,
  Expect<Equal<StepContext['signal'], AbortSignal>>,
  Expect<Equal<CompensationContext<Order, { at: Date }>['result'], { at: string } | undefined>>,
  Expect<Equal<CompensationContext<Order, void>['result'], void | undefined>>,
  Expect<Equal<CompensationContext['result'], unknown>>,
  Expect<
    Equal<CompensationContext['failure']['kind'], 'error' | 'rejected' | 'timeout' | 'cancelled' | 'undone'>
  >,
];
