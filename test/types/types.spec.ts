import { readdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compile } from './compile.js';

const TYPE_TESTS = readdirSync(dirname(fileURLToPath(import.meta.url))).filter((name) =>
  name.endsWith('.types.ts'),
);

/** A saga with these members, in which everything else is right. */
const sagaOf = (members: string) => `
import {
  type CompensationContext, type ForEachContext, type ItemCompensationContext, type ProbeAnswer, Saga,
  type SagaService, Step, type StepContext, type TransactionalStepContext,
} from 'nestjs-durable-saga';
export interface PlaceOrder { sku: string; orderedAt: Date; lines?: Line[] }
export interface Line { sku: string; quantity: number }
export interface Reservation { reservationId: string; until: Date }
export type Used = [
  CompensationContext, ForEachContext, ItemCompensationContext, ProbeAnswer, StepContext,
  TransactionalStepContext, SagaService,
];
@Saga()
export class PlaceOrderSaga {
  ${members}
}`;

const step = 'reserveStock(_ctx: StepContext<PlaceOrder>): Promise<Reservation> { throw new Error(); }';
const undo = 'releaseStock(_ctx: CompensationContext<PlaceOrder, Reservation>): void {}';

const RIGHT: Record<string, string> = {
  'a step with its compensation': `@Step({ compensate: 'releaseStock' }) ${step} ${undo}`,
  'a transactional step': `
    @Step({ transactional: true })
    book(ctx: TransactionalStepContext<PlaceOrder>): void { void ctx.manager.queryRunner; }`,
  'a step after two others': `
    @Step() ${step}
    @Step({ after: [] }) weigh(): void {}
    @Step({ after: ['reserveStock', 'weigh'], join: 'any' }) ship(_ctx: StepContext<PlaceOrder>): void {}`,
  'a step for each item': `
    @Step({ forEach: (ctx: StepContext<PlaceOrder>) => ctx.input.lines ?? [], compensate: 'unpack' })
    pack(ctx: ForEachContext<PlaceOrder, Line>): number { return ctx.item.quantity + ctx.index; }
    unpack(ctx: ItemCompensationContext<PlaceOrder, number, Line>): void { void ctx.item.sku; }
    @Step() ship(ctx: StepContext<PlaceOrder, PlaceOrderSaga>): number { return ctx.results.pack.length; }`,
  'a step with its probe': `
    @Step({ probe: 'look' }) ${step}
    async look(_ctx: StepContext<PlaceOrder>): Promise<ProbeAnswer<Reservation>> { return 'unknown'; }`,
  'results by the class': `
    @Step() ${step}
    @Step() ship(ctx: StepContext<PlaceOrder, PlaceOrderSaga>): string { return ctx.results.reserveStock.until; }`,
};

/** Each wrong use, and what the compiler's words must have in them for its author to see what is wrong. */
const WRONG: Record<string, [members: string, ...words: (string | RegExp)[]]> = {
  'a compensation that does not exist': [
    `@Step({ compensate: 'releaseStok' }) ${step} ${undo}`,
    /Property 'releaseStok' is missing in type 'PlaceOrderSaga'/,
  ],
  'a compensation that exists in another class only': [
    `@Step({ compensate: 'releaseStock' }) ${step}`,
    /Property 'releaseStock' is missing in type 'PlaceOrderSaga'/,
  ],
  'a compensation whose result is another step’s': [
    `@Step({ compensate: 'refund' }) ${step}
     refund(_ctx: CompensationContext<PlaceOrder, { chargeId: string }>): void {}`,
    'refund',
    'Reservation',
    /Property 'chargeId' is missing in type .*reservationId/,
  ],
  'a compensation whose result has a property of another type': [
    `@Step({ compensate: 'release' }) ${step}
     release(_ctx: CompensationContext<PlaceOrder, { reservationId: number }>): void {}`,
    'reservationId',
    /'string' is not assignable to type 'number'/,
  ],
  'a compensation that takes the Promise for the result': [
    `@Step({ compensate: 'release' }) ${step}
     release(_ctx: CompensationContext<PlaceOrder, Promise<Reservation>>): void {}`,
    'release',
    'Promise<Reservation>',
  ],
  'a compensation that asks for a step’s context': [
    `@Step({ compensate: 'release' }) ${step}
     release(_ctx: StepContext<PlaceOrder>): void {}`,
    /Property 'round' is missing/,
  ],
  'a compensation that asks for a second argument': [
    `@Step({ compensate: 'release' }) ${step}
     release(_ctx: CompensationContext<PlaceOrder>, _more: string): void {}`,
    'release',
  ],
  'a compensation that is no method': [
    `@Step({ compensate: 'label' }) ${step} label = 'a';`,
    /Type 'string' is not assignable to type '\(ctx: CompensationContext/,
  ],
  'a compensation that is private': [
    `@Step({ compensate: 'hidden' }) ${step} private hidden(): void {} use(): void { this.hidden(); }`,
    /Property 'hidden' is private/,
  ],
  'a result that is used without a look whether it is there': [
    `@Step({ compensate: 'release' }) ${step}
     release(ctx: CompensationContext<PlaceOrder, Reservation>): void { void ctx.result.reservationId; }`,
    /'ctx\.result' is possibly 'undefined'/,
  ],
  'a result that is used as it was before it was stored': [
    `@Step({ compensate: 'release' }) ${step}
     release(ctx: CompensationContext<PlaceOrder, Reservation>): void { void ctx.result?.until.getTime(); }`,
    /'getTime' does not exist on type 'string'/,
  ],
  'an input that is used as it was before it was stored': [
    `@Step() a(ctx: StepContext<PlaceOrder>): void { void ctx.input.orderedAt.getTime(); }`,
    /'getTime' does not exist on type 'string'/,
  ],
  'the result of a step that does not exist': [
    `@Step() ${step}
     @Step() ship(ctx: StepContext<PlaceOrder, PlaceOrderSaga>): void { void ctx.results.reserveStok; }`,
    /'reserveStok' does not exist on type .*reserveStock/s,
  ],
  'a manager in a step that is not transactional': [
    `@Step() book(ctx: StepContext<PlaceOrder>): void { void ctx.manager.queryRunner; }`,
    /'ctx\.manager' is possibly 'undefined'/,
  ],
  'a transactional context in a step that is not transactional': [
    `@Step() book(_ctx: TransactionalStepContext<PlaceOrder>): void {}`,
    'TransactionalStepContext',
    /Types of property 'transaction' are incompatible/,
  ],
  'a compensation as a step': [`@Step() ${undo}`, 'CompensationContext', 'StepContext'],
  'a step with a second argument': [
    `@Step() a(_ctx: StepContext<PlaceOrder>, _b: string): void {}`,
    /StepContext/,
  ],
  'a wait for a step that does not exist': [
    `@Step() ${step} @Step({ after: 'reserveStok' }) ship(): void {}`,
    /Property 'reserveStok' is missing in type 'PlaceOrderSaga'/,
  ],
  'a wait for several steps of which one does not exist': [
    `@Step() ${step} @Step({ after: ['reserveStock', 'weigh'] }) ship(): void {}`,
    /Property 'weigh' is missing in type 'PlaceOrderSaga'/,
  ],
  'a wait for a compensation': [
    `@Step({ compensate: 'releaseStock' }) ${step} ${undo} @Step({ after: 'releaseStock' }) ship(): void {}`,
    'releaseStock',
    'CompensationContext',
    /Property 'failure' is missing|missing the following properties from type .*failure/s,
  ],
  'an item of another type': [
    `@Step({ forEach: (ctx: StepContext<PlaceOrder>) => ctx.input.lines ?? [] })
     pack(_ctx: ForEachContext<PlaceOrder, { price: number }>): void {}`,
    'ForEachContext',
    /Property 'price' is missing in type .*quantity/s,
  ],
  'an item without forEach': [
    `@Step() pack(_ctx: ForEachContext<PlaceOrder, Line>): void {}`,
    'ForEachContext',
    'item',
  ],
  'a compensation for each item of a step that has none': [
    `@Step({ compensate: 'unpack' }) pack(): void {}
     unpack(_ctx: ItemCompensationContext<PlaceOrder, void, Line>): void {}`,
    'unpack',
    'ItemCompensationContext',
  ],
  'a probe that does not exist': [
    `@Step({ probe: 'look' }) ${step}`,
    /Property 'look' is missing in type 'PlaceOrderSaga'/,
  ],
  'a probe that finds another step’s result': [
    `@Step({ probe: 'look' }) ${step}
     look(_ctx: StepContext<PlaceOrder>): ProbeAnswer<{ chargeId: string }> { return 'unknown'; }`,
    'look',
    'ProbeAnswer<Reservation>',
    'chargeId',
  ],
  'a probe that answers yes or no': [
    `@Step({ probe: 'look' }) ${step} look(_ctx: StepContext<PlaceOrder>): boolean { return true; }`,
    'look',
    /'boolean' is not assignable to type .*ProbeAnswer<Reservation>/,
  ],
  'an unknown option': [
    `@Step({ compensat: 'releaseStock' }) ${step} ${undo}`,
    /'compensat' does not exist|compensate/,
  ],
  'a timeout that is no duration': [
    `@Step({ timeout: true }) ${step}`,
    /'true' is not assignable to type 'Duration/,
  ],
  'steps without return types that read results': [
    `constructor(readonly stock: { reserve(sku: string): Promise<Reservation>; ship(id: string): Promise<string> }) {}
     @Step() reserveStock(ctx: StepContext<PlaceOrder>) { return this.stock.reserve(ctx.input.sku); }
     @Step() ship(ctx: StepContext<PlaceOrder, PlaceOrderSaga>) {
       return this.stock.ship(ctx.results.reserveStock.reservationId);
     }`,
    "Property 'reserveStock' does not exist on type '{}'",
  ],
  'a unit that durations do not have': [
    `@Step({ timeout: '10 minutes' }) ${step}`,
    /'"10 minutes"' is not assignable to type 'Duration/,
  ],
  'an input that lacks a property': [
    `constructor(readonly sagas: SagaService) {}
     @Step() ${step}
     again(): unknown { return this.sagas.start(PlaceOrderSaga, { sku: 'a' }); }`,
    // Not as one of several overloads, of which TypeScript 7 shows the last only.
    /^\d+: Argument of type '{ sku: string; }' is not assignable to parameter of type 'PlaceOrder'/,
    /Property 'orderedAt' is missing in type .* 'PlaceOrder'/,
  ],
};

describe('the compiler', () => {
  const [right, wrong] = [Object.keys(RIGHT), Object.keys(WRONG)];
  const nameOf = (title: string) => `${title.replace(/\W+/g, '-')}.ts`;
  let complaints: ReadonlyMap<string, string[]>;

  beforeAll(() => {
    const texts = [
      ...right.map((title) => [title, RIGHT[title]!]),
      ...wrong.map((title) => [title, WRONG[title]![0]]),
    ];
    complaints = compile(
      TYPE_TESTS,
      new Map(texts.map(([title, members]) => [nameOf(title!), sagaOf(members!)])),
    );
  });

  it.each(TYPE_TESTS)('holds what %s says', (file) => {
    expect(complaints.get(file)).toEqual([]);
  });

  it.each(right)('accepts %s', (title) => {
    expect(complaints.get(nameOf(title))).toEqual([]);
  });

  it.each(wrong)('refuses %s, in words that name what is wrong', (title) => {
    const said = complaints.get(nameOf(title))!;
    expect(said).toHaveLength(1);
    for (const word of WRONG[title]!.slice(1)) expect(said[0]).toMatch(word);
  });
});
