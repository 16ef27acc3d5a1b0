/**
 * What @StepHandler and @RemoteStep know of each other. Compiled with the tests' type check; there is nothing
 * to run.
 */
import {
  type CompensationContext,
  type HandlerCompensationContext,
  type HandlerContext,
  type ProbeAnswer,
  type RemoteInput,
  RemoteStep,
  type ResultsOf,
  Saga,
  Step,
  type StepContext,
  StepHandler,
  type TransactionalHandlerCompensationContext,
  type TransactionalHandlerContext,
} from 'nestjs-durable-saga';
import type { Equal, Expect } from './expect.js';

interface Parcel {
  address: string;
  at: Date;
}
interface Sent {
  tracking: string;
  on: Date;
}
interface Order {
  parcel: Parcel;
  lines: string[];
}

declare module 'nestjs-durable-saga' {
  interface StepContracts {
    'types.send'(input: Parcel): Sent;
    'types.count': (input: string[]) => Promise<number>;
    'types.tick': () => void;
    'types.weigh'(input: Parcel): number;
  }
}

export class AcceptedHandlers {
  @StepHandler('types.send', { compensate: 'recall', probe: 'look', timeout: '1s', version: 2 })
  async send(ctx: HandlerContext<Parcel>): Promise<Sent> {
    // As it was stored.
    const day: string = ctx.input.at;
    this.log(ctx);
    return Promise.resolve({
      tracking: ctx.input.address + day + ctx.sagaId + ctx.correlationId,
      on: new Date(),
    });
  }
  recall(ctx: HandlerCompensationContext<Parcel, Sent>): string | undefined {
    this.log(ctx);
    return ctx.result?.on;
  }
  look(_ctx: HandlerContext<Parcel>): ProbeAnswer<Sent> {
    return 'unknown';
  }
  private log(_ctx: { sagaId: string; idempotencyKey: string; signal: AbortSignal }): void {}

  @StepHandler('types.count', { transactional: true, compensate: 'uncount' })
  count({ input, manager }: TransactionalHandlerContext<string[]>): number {
    return input.length + Number(manager.queryRunner);
  }
  uncount({ manager, result }: TransactionalHandlerCompensationContext<string[], number>): void {
    void [manager.queryRunner, result];
  }

  @StepHandler('types.tick') tick(): void {}

  /** A handler with an undeclared name is not checked. */
  @StepHandler('types.free') free(ctx: HandlerContext<{ a: number }>): { b: number } {
    return this.pass(ctx);
  }
  private pass(ctx: HandlerContext<{ a: number }>): { b: number } {
    return { b: ctx.input.a };
  }
}

@Saga()
export class AcceptedSaga {
  @RemoteStep('types.send', { compensate: 'tell', version: 2 })
  send(ctx: StepContext<Order>): RemoteInput<'types.send'> {
    return { ...ctx.input.parcel, at: new Date() };
  }
  tell(ctx: CompensationContext<Order, Sent>): string | undefined {
    return ctx.result?.tracking;
  }

  @RemoteStep('types.count', { after: 'send', when: () => true, delay: '1s', pivot: true })
  async count(ctx: StepContext<Order>): Promise<RemoteInput<'types.count'>> {
    return Promise.resolve(ctx.input.lines);
  }

  @RemoteStep('types.tick') tick(): RemoteInput<'types.tick'> {
    return undefined;
  }

  /** By the handler's method, of which the type is enough. */
  @RemoteStep('types.free', { compensate: 'untell' })
  free(): RemoteInput<AcceptedHandlers['free']> {
    return { a: 1 };
  }
  untell(_ctx: CompensationContext<Order, { b: number }>): void {}

  /** By a function from what is given to what is returned. */
  @RemoteStep('types.free') freely(): RemoteInput<(input: { a: number }) => Promise<'yes' | 'no'>> {
    return { a: 2 };
  }

  /** Without a word about it, the result is taken for the input; its compensation may say what it wants. */
  @RemoteStep('types.other', { compensate: 'other' }) plain(): { c: number } {
    return { c: 1 };
  }
  other(_ctx: CompensationContext<Order, { d: string }>): void {}

  @Step() end(ctx: StepContext<Order, AcceptedSaga>): string {
    return ctx.results.send.on + ctx.results.count.toFixed() + ctx.results.free.b.toFixed();
  }
}

export type Results = [
  Expect<Equal<ResultsOf<AcceptedSaga>['send'], { tracking: string; on: string }>>,
  Expect<Equal<ResultsOf<AcceptedSaga>['count'], number>>,
  Expect<Equal<ResultsOf<AcceptedSaga>['tick'], void>>,
  Expect<Equal<ResultsOf<AcceptedSaga>['free'], { b: number }>>,
  Expect<Equal<ResultsOf<AcceptedSaga>['freely'], 'yes' | 'no'>>,
  Expect<Equal<ResultsOf<AcceptedSaga>['plain'], { c: number }>>,
  Expect<Equal<RemoteInput<'types.tick'> & undefined, undefined>>,
];

export class RefusedHandlers {
  // @ts-expect-error -- it is given a parcel
  @StepHandler('types.send')
  wrongInput(_ctx: HandlerContext<{ weight: number }>): Sent {
    throw new Error();
  }

  // @ts-expect-error -- it has to return what its contract says
  @StepHandler('types.send')
  wrongResult(_ctx: HandlerContext<Parcel>): { tracking: number } {
    return { tracking: 1 };
  }

  // @ts-expect-error -- no such method
  @StepHandler('types.tick', { compensate: 'nothing' })
  noCompensation(): void {}

  // @ts-expect-error -- its compensation is given what it returned
  @StepHandler('types.count', { compensate: 'takesText' })
  wrongCompensation(_ctx: HandlerContext<string[]>): number {
    return 1;
  }
  takesText(_ctx: HandlerCompensationContext<string[], string>): void {}

  // @ts-expect-error -- it is not transactional
  @StepHandler('types.count')
  noManager(_ctx: TransactionalHandlerContext<string[]>): number {
    return 1;
  }

  // @ts-expect-error -- the results of the saga that asks are not known here
  @StepHandler('types.tick')
  noResults(_ctx: StepContext): void {}

  // @ts-expect-error -- the point of no return is the saga's
  @StepHandler('types.tick', { pivot: true })
  noPivot(): void {}
}

@Saga()
export class RefusedSaga {
  // @ts-expect-error -- it has to return what the handler is given
  @RemoteStep('types.send')
  wrongInput(_ctx: StepContext<Order>): { address: number } {
    return { address: 1 };
  }

  // @ts-expect-error -- its compensation is given what the handler returned
  @RemoteStep('types.send', { compensate: 'takesParcel' })
  wrongCompensation(ctx: StepContext<Order>): RemoteInput<'types.send'> {
    return { ...ctx.input.parcel, at: new Date() };
  }
  takesParcel(_ctx: CompensationContext<Order, Parcel>): void {}

  // @ts-expect-error -- the result would be another handler's
  @RemoteStep('types.send')
  otherHandler(ctx: StepContext<Order>): RemoteInput<'types.weigh'> {
    return { ...ctx.input.parcel, at: new Date() };
  }

  // @ts-expect-error -- no such contract
  @RemoteStep('types.nothing') noContract(): RemoteInput<'types.nothing'> {
    return {};
  }

  // @ts-expect-error -- no such step
  @RemoteStep('types.tick', { after: 'nothing' })
  noStep(): undefined {
    return undefined;
  }

  // @ts-expect-error -- one call is one step
  @RemoteStep('types.tick', { forEach: () => [] })
  noItems(): undefined {
    return undefined;
  }

  // @ts-expect-error -- the handler has its own
  @RemoteStep('types.tick', { timeout: '1s' })
  noTimeout(): undefined {
    return undefined;
  }
}
