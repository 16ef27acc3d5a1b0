/** What the compiler knows of a saga's class. Compiled with the tests' type check; there is nothing to run. */
import {
  type CompensationContext,
  type InputOf,
  type ResultsOf,
  Saga,
  type SagaHandle,
  type SagaOutcome,
  type SagaService,
  type SagaSnapshot,
  type StepSnapshot,
  Step,
  type StepContext,
} from 'nestjs-durable-saga';
import type { Equal, Expect } from './expect.js';

interface PlaceOrder {
  sku: string;
  orderedAt: Date;
}
interface Reservation {
  id: string;
  until: Date;
  note?: string;
}

@Saga()
class PlaceOrderSaga {
  private readonly fee?: number;
  protected currency?: string;
  label?: string;

  @Step({ compensate: 'releaseStock' })
  reserveStock(_ctx: StepContext<PlaceOrder>): Promise<Reservation> {
    return Promise.resolve({ id: '1', until: new Date() });
  }
  releaseStock(_ctx: CompensationContext<PlaceOrder, Reservation>): void {}

  @Step()
  chargeCard(_ctx: StepContext<Pick<PlaceOrder, 'sku'>, PlaceOrderSaga>): number {
    return this.priceOf('a');
  }

  @Step()
  notify(): void {}

  @Step()
  async ship(ctx: StepContext<PlaceOrder, PlaceOrderSaga>): Promise<string | undefined> {
    return ctx.results.reserveStock.note;
  }

  priceOf(sku: string): number {
    return sku.length + (this.fee ?? 0);
  }
}

export type TheInputIsWhatTheStepsAskFor = [
  Expect<Equal<InputOf<PlaceOrderSaga>['sku'], string>>,
  Expect<Equal<InputOf<PlaceOrderSaga>['orderedAt'], Date>>,
];

class TwoParts {
  a(_ctx: StepContext<{ a: string }>): void {}
  b(_ctx: StepContext<{ b?: number }>): void {}
  undo(_ctx: CompensationContext<{ c: Date }>): void {}
}
class OneInput {
  only(_ctx: StepContext<{ a: string }>): void {}
}
class MaybeInput {
  only(_ctx: StepContext<string | undefined>): void {}
}
class NoInput {
  first(): void {}
  second(_ctx: StepContext): void {}
}
class AnyInput {
  // oxlint-disable-next-line typescript/no-explicit-any -- what is proven here
  only(_ctx: StepContext<any>): void {}
}
class Inherited extends OneInput {
  more(_ctx: StepContext<{ b: number }>): void {}
}
class Generic<T> {
  only(_ctx: StepContext<T>): T {
    throw new Error();
  }
}
class Closed extends Generic<{ at: Date }> {}

export type TheInputSatisfiesAllMethods = [
  Expect<Equal<InputOf<TwoParts>, { a: string } & { b?: number } & { c: Date }>>,
  Expect<Equal<InputOf<OneInput>, { a: string }>>,
  Expect<Equal<InputOf<MaybeInput>, string | undefined>>,
  Expect<Equal<InputOf<Inherited>, { a: string } & { b: number }>>,
  Expect<Equal<InputOf<Closed>, { at: Date }>>,
];

export type TheInputIsUnknownWhereNothingIsAsked = [
  Expect<Equal<InputOf<NoInput>, unknown>>,
  Expect<Equal<InputOf<unknown>, unknown>>,
  // oxlint-disable-next-line typescript/no-explicit-any -- what is proven here
  Expect<Equal<InputOf<AnyInput>, any>>,
];

export type ResultsAreThoseOfTheSteps = [
  Expect<
    Equal<
      ResultsOf<PlaceOrderSaga>,
      {
        readonly reserveStock: { id: string; until: string; note?: string };
        readonly chargeCard: number;
        readonly notify: void;
        readonly ship: string | undefined;
      }
    >
  >,
  Expect<Equal<ResultsOf<Closed>, { readonly only: { at: string } }>>,
];

export type ResultsOfAnUntypedContextAreNotKnown = [
  // oxlint-disable-next-line typescript/no-explicit-any -- what is proven here
  Expect<Equal<ResultsOf<unknown>, Readonly<Record<string, any>>>>,
  // oxlint-disable-next-line typescript/no-explicit-any -- what is proven here
  Expect<Equal<StepContext['results'], Readonly<Record<string, any>>>>,
];

declare const sagas: SagaService;
const order = { sku: 'a', orderedAt: new Date() };

export const started: Promise<SagaHandle<PlaceOrderSaga>> = sagas.start(PlaceOrderSaga, order);
export const empty: Promise<SagaHandle<NoInput>> = sagas.start(NoInput, undefined);
export const maybe: Promise<SagaHandle<MaybeInput>> = sagas.start(MaybeInput, undefined);

// @ts-expect-error -- the input lacks a property
void sagas.start(PlaceOrderSaga, { sku: 'a' });
// @ts-expect-error -- the input has a property of another type
void sagas.start(PlaceOrderSaga, { ...order, sku: 1 });
// @ts-expect-error -- the input is missing
void sagas.start(PlaceOrderSaga);

/** A declared saga, as an interface describes it. */
interface Declared {
  reserve(ctx: StepContext<{ sku: string }>): { id: string };
}

export async function aSagaThatIsStartedByNameHasTheTypesOfAnInterface() {
  const { results } = await (await sagas.start<Declared>('declared', { sku: 'a' })).outcome();
  const id: string | undefined = results.reserve?.id;
  // @ts-expect-error -- the input has a property of another type
  void sagas.start<Declared>('declared', { sku: 1 });
  // @ts-expect-error -- the interface has no such step
  void results.charge;
  const untyped: Promise<SagaHandle<unknown>> = sagas.start('declared', { sku: 1 });
  const { results: byName } = await (await sagas.start('declared', { sku: 1 })).outcome();
  const anything: unknown = byName.reserve?.id;
  void sagas.start('declared', 'A-1');
  return [id, untyped, anything];
}

/** What is known of a saga that is asked for by its class. */
const target = { saga: PlaceOrderSaga, correlationId: 'order 1' };

export async function whatIsGotHasTheTypesOfTheClass() {
  const saga = await sagas.get(target);
  const orderedAt: string = saga.input.orderedAt;
  // @ts-expect-error -- the input is in its stored form
  const date: Date = saga.input.orderedAt;
  // @ts-expect-error -- the input has no such property
  void saga.input.amount;
  const until: string | undefined = saga.steps.find((step) => step.name === 'reserveStock')?.result?.until;
  const price: number | undefined = saga.steps.find((step) => step.name === 'chargeCard')?.result;
  // @ts-expect-error -- the result of another step
  const wrong: number | undefined = saga.steps.find((step) => step.name === 'reserveStock')?.result;
  // @ts-expect-error -- the class has no such step
  void saga.steps.find((step) => step.name === 'pay');
  return [orderedAt, date, until, price, wrong];
}

export async function whatIsWaitedForHasTheTypesOfTheClass() {
  const { results } = await sagas.wait(target);
  const until: string | undefined = results.reserveStock?.until;
  // @ts-expect-error -- the class has no such step
  void results.pay;
  const outcome = await (await sagas.start(PlaceOrderSaga, order)).outcome();
  const price: number | undefined = outcome.results.chargeCard;
  // @ts-expect-error -- the result is of another type
  const text: string | undefined = outcome.results.chargeCard;
  return [until, price, text];
}

export async function whatIsGotByAnIdMayBeGivenAClass() {
  const saga = await sagas.get<PlaceOrderSaga>('an id');
  const sku: string = saga.input.sku;
  const unknown = await sagas.get('an id');
  // @ts-expect-error -- nothing is known of the input
  void unknown.input.sku;
  const byName = await sagas.get({ saga: 'place-order', correlationId: 'order 1' });
  // @ts-expect-error -- nor of one that is asked for by its name
  void byName.input.sku;
  return [sku, unknown, byName];
}

export type NothingIsKnownWithoutAClass = [
  Expect<Equal<SagaSnapshot['input'], unknown>>,
  Expect<Equal<SagaSnapshot['steps'], readonly StepSnapshot[]>>,
];

/** A function that accepts any saga accepts one of a class. */
declare function show(saga: SagaSnapshot): void;
declare function tell(outcome: SagaOutcome): void;
export const shown = async () => show(await sagas.get(target));
export const told = async () => tell(await sagas.wait(target));
