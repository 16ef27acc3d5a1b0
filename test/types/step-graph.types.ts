/** What @Step knows of a saga's graph. Compiled with the tests' type check; there is nothing to run. */
import { z } from 'zod';
import {
  type CompensationContext,
  type ForEachContext,
  type ItemCompensationContext,
  type KeyContext,
  type ProbeAnswer,
  type ResultsOf,
  Saga,
  Step,
  type StepContext,
  type TransactionalStepContext,
} from 'nestjs-durable-saga';
import { analyzeSaga, type SagaFinding } from 'nestjs-durable-saga/diagram';
import type { Equal, Expect } from './expect.js';

interface Line {
  sku: string;
  by: Date;
}
interface Order {
  id: string;
  lines: Line[];
}
interface Parcel {
  tracking: string;
  at: Date;
}

@Saga({
  timeout: '1h',
  onFailure: 'suspend',
  lockKey: ({ input: order }: KeyContext<Order>) => order.id,
  limit: 5,
  durability: 'relaxed',
})
export class AcceptedSaga {
  @Step({ after: [], savepoint: true })
  atOnce(_ctx: StepContext<Order>): void {}

  @Step({ after: 'atOnce', delay: '1m', rateLimit: { count: 5, per: '1s' }, savepoint: { attempts: 3 } })
  afterOne(_ctx: StepContext<Order>): void {}

  @Step({ after: ['atOnce', 'afterOne', 'later'], join: 'any', pivot: true })
  afterSeveral(_ctx: StepContext<Order>): void {}

  @Step({ after: ['pack'], when: (ctx: StepContext<Order, AcceptedSaga>) => ctx.results.pack.length > 0 })
  later(_ctx: StepContext<Order>): void {}

  @Step({
    forEach: (ctx: StepContext<Order>) => ctx.input.lines,
    itemsAtOnce: 3,
    compensate: 'unpack',
    probe: 'lookForParcel',
  })
  async pack(ctx: ForEachContext<Order, Line>): Promise<Parcel> {
    const [by, index]: [string, number] = [ctx.item.by, ctx.index];
    return Promise.resolve({ tracking: by + index, at: new Date() });
  }
  unpack(ctx: ItemCompensationContext<Order, Parcel, Line>): string {
    return (ctx.result?.at ?? '') + ctx.item.by + ctx.index.toFixed();
  }
  lookForParcel(ctx: ForEachContext<Order, Line>): ProbeAnswer<Parcel> {
    return ctx.index > 0 ? { done: { tracking: ctx.item.sku, at: new Date() } } : 'not-done';
  }

  @Step({ forEach: () => ['a', 'b'], compensate: 'unpackPlainly' })
  untypedContext(_ctx: ForEachContext<unknown, string>): number {
    return 1;
  }
  unpackPlainly(_ctx: CompensationContext<Order, number>): void {}

  @Step({ forEach: () => [] })
  noItems(_ctx: ForEachContext<Order, string>): void {}

  @Step({ forEach: (ctx) => ctx.input.lines as Line[] })
  itemAsItWas(ctx: ForEachContext<Order, Line>): string {
    return ctx.item.by;
  }

  @Step({ forEach: (ctx: StepContext<Order>) => ctx.input.lines })
  itemNotAskedFor(ctx: StepContext<Order>): void {
    void (ctx.item as Line | undefined)?.sku;
  }

  @Step({ forEach: (ctx: StepContext<Order>) => ctx.input.lines, transactional: true })
  transactionalItems(ctx: ForEachContext<Order, Line> & TransactionalStepContext<Order>): void {
    void [ctx.manager.queryRunner, ctx.item.by];
  }

  @Step({ probe: 'lookForCharge', timeout: '5s' })
  async charge(_ctx: StepContext<Order>): Promise<{ chargeId: string }> {
    return Promise.resolve({ chargeId: '1' });
  }
  async lookForCharge(ctx: StepContext<Order>): Promise<ProbeAnswer<{ chargeId: string }>> {
    return Promise.resolve(ctx.attempt > 1 ? 'unknown' : { done: { chargeId: '1' } });
  }

  @Step({ probe: 'lookInferred' })
  notify(): void {}
  lookInferred() {
    return Math.random() > 0.5 ? 'not-done' : { done: undefined };
  }
}

export class RefusedSaga {
  @Step()
  first(_ctx: StepContext<Order>): void {}
  label = 'a';
  undo(_ctx: CompensationContext<Order>): void {}

  // @ts-expect-error -- no such step
  @Step({ after: 'frist' })
  unknownName(_ctx: StepContext<Order>): void {}

  // @ts-expect-error -- one of several is no step
  @Step({ after: ['first', 'frist'] })
  unknownNames(_ctx: StepContext<Order>): void {}

  // @ts-expect-error -- a property is no step
  @Step({ after: 'label' })
  afterProperty(_ctx: StepContext<Order>): void {}

  // @ts-expect-error -- a compensation is no step
  @Step({ after: 'undo' })
  afterCompensation(_ctx: StepContext<Order>): void {}

  // @ts-expect-error -- there is all and any
  @Step({ after: ['first', 'unknownName'], join: 'some' })
  wrongJoin(_ctx: StepContext<Order>): void {}

  // @ts-expect-error -- a predicate says yes or no
  @Step({ when: () => 'yes' })
  wrongPredicate(_ctx: StepContext<Order>): void {}

  // @ts-expect-error -- a predicate is not asynchronous
  @Step({ when: async () => true })
  asynchronousPredicate(_ctx: StepContext<Order>): void {}

  // @ts-expect-error -- items come as a list
  @Step({ forEach: () => 3 })
  noList(_ctx: StepContext<Order>): void {}

  // @ts-expect-error -- the items are others than those that the method asks for
  @Step({ forEach: (ctx: StepContext<Order>) => ctx.input.lines })
  wrongItem(_ctx: ForEachContext<Order, { price: number }>): void {}

  // @ts-expect-error -- without forEach there is no item
  @Step()
  noForEach(_ctx: ForEachContext<Order, Line>): void {}

  // @ts-expect-error -- the compensation asks for another item
  @Step({ forEach: (ctx: StepContext<Order>) => ctx.input.lines, compensate: 'undoItem' })
  wrongUndo(_ctx: ForEachContext<Order, Line>): void {}
  undoItem(_ctx: ItemCompensationContext<Order, void, { price: number }>): void {}

  // @ts-expect-error -- without forEach the compensation has no item
  @Step({ compensate: 'undoItem' })
  noItemToUndo(_ctx: StepContext<Order>): void {}

  // @ts-expect-error -- no such method
  @Step({ probe: 'lok' })
  noProbe(_ctx: StepContext<Order>): void {}

  // @ts-expect-error -- the probe finds another result
  @Step({ probe: 'look' })
  wrongProbe(_ctx: StepContext<Order>): Parcel {
    return { tracking: '', at: new Date() };
  }
  look(_ctx: StepContext<Order>): ProbeAnswer<{ chargeId: string }> {
    return 'unknown';
  }

  // @ts-expect-error -- a probe answers done, not-done or unknown
  @Step({ probe: 'yesOrNo' })
  wrongAnswer(_ctx: StepContext<Order>): void {}
  yesOrNo(_ctx: StepContext<Order>): boolean {
    return true;
  }

  // @ts-expect-error -- a property is no probe
  @Step({ probe: 'label' })
  propertyAsProbe(_ctx: StepContext<Order>): void {}

  // @ts-expect-error -- count and per belong together
  @Step({ rateLimit: { count: 1 } })
  wrongRate(_ctx: StepContext<Order>): void {}

  // @ts-expect-error -- a savepoint is true or has attempts
  @Step({ savepoint: 3 })
  wrongSavepoint(_ctx: StepContext<Order>): void {}
}

// @ts-expect-error -- there is compensate and suspend
@Saga({ onFailure: 'ignore' })
export class WrongFailureSaga {}

// @ts-expect-error -- there is durable and relaxed
@Saga({ durability: 'lax' })
export class WrongDurabilitySaga {}

// @ts-expect-error -- a key is text
@Saga({ lockKey: ({ input }: KeyContext<Order>) => input.lines.length })
export class WrongKeySaga {}

// @ts-expect-error -- what an input has to be is a class, or a schema
@Saga({ input: 'PlaceOrder' })
export class WrongInputSaga {}

// @ts-expect-error -- a Standard Schema says what it checks by `validate`
@Saga({ input: { '~standard': { version: 1, vendor: 'by-hand' } } })
export class WrongSchemaSaga {}

@Saga({ input: z.object({ id: z.string() }) })
export class SchemaSaga {}

@Saga({ input: WrongInputSaga })
export class ClassSaga {}

@Saga({
  limit: { count: 5, key: ({ input }) => input.id },
  lockKey: ({ input: order }: KeyContext<Order>) => order.id,
  lockMode: 'reject',
})
export class KeyedSaga {
  @Step() count(_ctx: StepContext<Order>): number {
    return 1;
  }

  @Step({
    rateLimit: { count: 1, per: '1s', key: ({ input, tags }: KeyContext<Order>) => tags.tenant ?? input.id },
  })
  limited(_ctx: StepContext<Order>): void {}

  @Step({ limit: { count: 1, key: ({ input }: { readonly input: { readonly id: string } }) => input.id } })
  slotted(_ctx: StepContext<Order>): void {}

  // @ts-expect-error -- a limit has a count
  @Step({ limit: { key: () => 'a' } })
  uncounted(_ctx: StepContext<Order>): void {}

  // @ts-expect-error -- a key is a text
  @Step({ rateLimit: { count: 1, per: '1s', key: ({ input }: KeyContext<Order>) => input.lines.length } })
  countedBy(_ctx: StepContext<Order>): void {}
}

// @ts-expect-error -- a key is a text
@Saga<Order>({ limit: { count: 5, key: ({ input }) => input.lines } })
export class WrongLimitKeySaga {}

/* oxlint-disable typescript/no-unsafe-return, typescript/no-unsafe-call -- what does not compile has no type */
// @ts-expect-error -- a key sees the input in its stored form, in which a time is a text
@Saga<Order>({ lockKey: ({ input }) => input.lines[0]!.by.toISOString() })
export class TimeKeySaga {}

// @ts-expect-error -- an input that nothing declares has no properties
@Saga({ lockKey: ({ input }) => input.id })
export class UntypedKeySaga {}

// @ts-expect-error -- start() asks for what the steps declare, which has no tenant
@Saga({ lockKey: ({ input }: KeyContext<{ tenant: string }>) => input.tenant })
export class ForeignKeySaga {
  @Step() first(_ctx: StepContext<Order>): void {}

  // @ts-expect-error -- the same of a step's key
  @Step({ limit: { count: 1, key: ({ input }: KeyContext<{ tenant: string }>) => input.tenant } })
  second(): void {}
}

@Saga<{ id: string }>({ lockKey: ({ input }) => input.id, timeout: ({ input }) => input.id.length })
export class ItemKeySaga {
  @Step({
    forEach: ({ input }: StepContext<Order>) => input.lines,
    limit: { count: 1, key: ({ item, tags }) => tags.tenant ?? item.sku },
    rateLimit: { count: 1, per: '1s', key: ({ input, item }: KeyContext<Order, Line>) => input.id + item.by },
  })
  pack(_ctx: ForEachContext<Order, Line>): void {}

  @Step({
    forEach: ({ input }: StepContext<Order>) => input.lines,
    // @ts-expect-error -- a line has no bank
    limit: { count: 1, key: ({ item }) => item.bank },
  })
  pay(_ctx: ForEachContext<Order, Line>): void {}

  // @ts-expect-error -- without forEach there is no item
  @Step({ limit: { count: 1, key: ({ item }) => item.sku } })
  ship(_ctx: StepContext<Order>): void {}
}

/* oxlint-enable typescript/no-unsafe-return, typescript/no-unsafe-call */

// @ts-expect-error -- it waits, or it is rejected
@Saga({ lockKey: () => 'k', lockMode: 'wait' })
export class WrongLockModeSaga {}

// @ts-expect-error -- sagas are counted
@Saga({ limit: '5' })
export class WrongLimitSaga {}

export type OfAFanOut = [
  Expect<Equal<ResultsOf<AcceptedSaga>['pack'], { tracking: string; at: string }[]>>,
  Expect<Equal<ResultsOf<AcceptedSaga>['untypedContext'], number[]>>,
  Expect<Equal<ResultsOf<AcceptedSaga>['transactionalItems'], void[]>>,
  Expect<Equal<ResultsOf<AcceptedSaga>['charge'], { chargeId: string }>>,
  Expect<Equal<ForEachContext<Order, Line>['item'], { sku: string; by: string }>>,
  Expect<Equal<ForEachContext['item'], unknown>>,
  Expect<Equal<ForEachContext['index'], number>>,
  Expect<Equal<StepContext['item'], unknown>>,
  Expect<Equal<StepContext['index'], number | undefined>>,
  Expect<Equal<ItemCompensationContext<Order, Parcel, Line>['item'], { sku: string; by: string }>>,
  Expect<
    Equal<
      ItemCompensationContext<Order, Parcel, Line>['result'],
      { tracking: string; at: string } | undefined
    >
  >,
];

declare const item: ForEachContext<Order, Line>;
export const lessItem: ForEachContext<Pick<Order, 'id'>, Pick<Line, 'sku'>> = item;
export const noItem: StepContext<Order> = item;
declare const itemUndone: ItemCompensationContext<Order, Parcel, Line>;
export const plainly: CompensationContext<Order, Parcel> = itemUndone;

export const findings: SagaFinding[] = analyzeSaga(AcceptedSaga);
