/** What @Step accepts and refuses. Compiled with the tests' type check; there is nothing to run. */
import type { EntityManager } from 'typeorm';
import {
  type CompensationContext,
  Saga,
  Step,
  type StepContext,
  type TransactionalStepContext,
} from 'nestjs-durable-saga';

interface Order {
  sku: string;
  at: Date;
}
interface Reservation {
  id: string;
  until: Date;
}

abstract class Base {
  undoInBase(_ctx: CompensationContext<Order, Reservation>): void {}
}

@Saga({ name: 'accepted', version: 2, retry: { attempts: 3 }, compensationRetry: { attempts: 5 } })
export class AcceptedSaga extends Base {
  @Step({ compensate: 'undoInBase' })
  inherited(_ctx: StepContext<Order>): Promise<Reservation> {
    return Promise.resolve({ id: '1', until: new Date() });
  }

  @Step({
    compensate: 'undo',
    retry: { attempts: 5, delay: '1s' },
    timeout: '10s',
    compensateOnFailure: true,
  })
  reserve(_ctx: StepContext<Order>): Reservation {
    return { id: '1', until: new Date() };
  }
  async undo(ctx: CompensationContext<Order, Reservation>): Promise<void> {
    const until: string | undefined = ctx.result?.until;
    await Promise.resolve([until, ctx.failure.kind, ctx.input.at.slice(0, 10)]);
  }

  @Step({ compensate: 'undoPart' })
  asksForLess(_ctx: { readonly input: { sku: string } }): Reservation {
    return { id: '1', until: new Date() };
  }
  undoPart(_ctx: CompensationContext<Order, Pick<Reservation, 'id'>>): void {}

  @Step({ compensate: 'undoWithoutContext', idempotent: false })
  withoutContext(): void {}
  undoWithoutContext(): void {}

  @Step({ transactional: true, compensate: 'undoInTransaction' })
  async inTransaction(ctx: TransactionalStepContext<Order>): Promise<number> {
    const manager: EntityManager = ctx.manager;
    return Promise.resolve(manager.queryRunner ? 1 : 2);
  }
  undoInTransaction(ctx: CompensationContext<Order, number>): EntityManager | undefined {
    return ctx.manager;
  }

  @Step({ transactional: true })
  inTransactionWithPlainContext(ctx: StepContext<Order>): void {
    void ctx.manager?.queryRunner;
  }

  @Step()
  protected notPublic(_ctx: StepContext<Order>): void {}
}

export class RefusedSaga {
  // @ts-expect-error -- no such method
  @Step({ compensate: 'undoo' })
  wrongName(_ctx: StepContext<Order>): void {}

  // @ts-expect-error -- the compensation asks for another result
  @Step({ compensate: 'undoCharge' })
  wrongResult(_ctx: StepContext<Order>): Reservation {
    return { id: '1', until: new Date() };
  }
  undoCharge(_ctx: CompensationContext<Order, { chargeId: string }>): void {}

  // @ts-expect-error -- the compensation asks for more than the step returns
  @Step({ compensate: 'undoAll' })
  lessResult(_ctx: StepContext<Order>): Pick<Reservation, 'id'> {
    return { id: '1' };
  }
  undoAll(_ctx: CompensationContext<Order, Reservation>): void {}

  // @ts-expect-error -- a step's method is no compensation
  @Step({ compensate: 'wrongName2' })
  stepAsCompensation(_ctx: StepContext<Order>): void {}
  wrongName2(_ctx: StepContext<Order>): void {}

  // @ts-expect-error -- a property is no compensation
  @Step({ compensate: 'label' })
  property(_ctx: StepContext<Order>): void {}
  label = 'a';

  // @ts-expect-error -- a private method cannot be seen from outside
  @Step({ compensate: 'hidden' })
  privateCompensation(_ctx: StepContext<Order>): void {}
  private hidden(): void {}

  // @ts-expect-error -- only a transactional step certainly has a manager
  @Step()
  notTransactional(_ctx: TransactionalStepContext<Order>): void {}

  // @ts-expect-error -- the same, said explicitly
  @Step({ transactional: false })
  explicitlyNotTransactional(_ctx: TransactionalStepContext<Order>): void {}

  // @ts-expect-error -- a step has no failure: this is a compensation
  @Step()
  compensationAsStep(_ctx: CompensationContext<Order>): void {}

  // @ts-expect-error -- the engine passes no second argument
  @Step()
  twoArguments(_ctx: StepContext<Order>, _more: string): void {}

  // @ts-expect-error -- a property is no step
  @Step()
  step = () => {};

  // @ts-expect-error -- no such option
  @Step({ compensat: 'undo' })
  wrongOption(_ctx: StepContext<Order>): void {}

  // @ts-expect-error -- no duration
  @Step({ timeout: true })
  wrongTimeout(_ctx: StepContext<Order>): void {}

  // @ts-expect-error -- attempts is what a policy must say
  @Step({ retry: { delay: '1s' } })
  wrongRetry(_ctx: StepContext<Order>): void {}

  use(): void {
    this.hidden();
  }
}

// @ts-expect-error -- no such option
@Saga({ nam: 'order' })
export class WrongOptionSaga {}
