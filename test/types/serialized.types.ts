/** What a value is after it was stored as JSON. Compiled with the tests' type check; there is nothing to run. */
import type { Serialized } from 'nestjs-durable-saga';
import type { Equal, Expect } from './expect.js';

type Brand = string & { readonly brand: 'sku' };
interface Tree {
  name: string;
  children: Tree[];
  createdAt: Date;
}
class Money {
  readonly currency = 'CHF';
  constructor(readonly amount: number) {}
  add(other: Money): Money {
    return new Money(this.amount + other.amount);
  }
}
class Fraction {
  constructor(private readonly of: [number, number]) {}
  toJSON(): { readonly parts: [number, number]; readonly at: Date } {
    return { parts: this.of, at: new Date() };
  }
}

export type PlainValuesStay = [
  Expect<Equal<Serialized<string>, string>>,
  Expect<Equal<Serialized<'a' | 1 | true | null>, 'a' | 1 | true | null>>,
  Expect<Equal<Serialized<{ a: string; b: { c: number[] } }>, { a: string; b: { c: number[] } }>>,
  Expect<Equal<Serialized<Brand>, Brand>>,
  Expect<Equal<Serialized<undefined>, undefined>>,
  Expect<Equal<Serialized<void>, void>>,
];

export type DatesAreText = [
  Expect<Equal<Serialized<Date>, string>>,
  Expect<Equal<Serialized<{ at: Date; ends: Date | null }>, { at: string; ends: string | null }>>,
  Expect<Equal<Serialized<Record<string, Date>>, Record<string, string>>>,
];

export type WhatHasToJsonIsWhatThatReturns = [
  Expect<Equal<Serialized<URL>, string>>,
  Expect<Equal<Serialized<Fraction>, { readonly parts: [number, number]; readonly at: string }>>,
  Expect<Equal<Serialized<{ toJSON(key: string): { at: Date } }>, { at: string }>>,
];

export type ArraysAndTuplesStay = [
  Expect<Equal<Serialized<Date[]>, string[]>>,
  Expect<Equal<Serialized<readonly Date[]>, readonly string[]>>,
  Expect<Equal<Serialized<[Date, number?]>, [string, number?]>>,
  Expect<Equal<Serialized<{ lines: { at: Date }[] }>, { lines: { at: string }[] }>>,
];

export type ModifiersStay = [
  Expect<Equal<Serialized<{ a?: Date; readonly b: Date }>, { a?: string; readonly b: string }>>,
];

export type MethodsAreGone = [
  Expect<Equal<Serialized<Money>, { readonly currency: 'CHF'; readonly amount: number }>>,
  Expect<Equal<Serialized<{ a: 1; call: () => void; [Symbol.iterator]: 2 }>, { a: 1 }>>,
];

export type UnionsAreTakenApart = [
  Expect<Equal<Serialized<Date | { at: Date } | 7>, string | { at: string } | 7>>,
  Expect<
    Equal<
      Serialized<{ kind: 'card'; at: Date } | { kind: 'cash' }>,
      { kind: 'card'; at: string } | { kind: 'cash' }
    >
  >,
];

export type TypesMayReferToThemselves = [
  Expect<Equal<Serialized<Tree>['createdAt'], string>>,
  Expect<Equal<Serialized<Tree>['children'][number]['children'][number]['createdAt'], string>>,
];

export type WhatIsNotKnownStaysSo = [
  // oxlint-disable-next-line typescript/no-explicit-any -- what is proven here
  Expect<Equal<Serialized<any>, any>>,
  Expect<Equal<Serialized<unknown>, unknown>>,
  // oxlint-disable-next-line typescript/no-explicit-any -- what is proven here
  Expect<Equal<Serialized<{ a: any; b: unknown }>, { a: any; b: unknown }>>,
];

export type WhatIsRefusedIsNever = [
  Expect<Equal<Serialized<bigint>, never>>,
  Expect<Equal<Serialized<symbol>, never>>,
  Expect<Equal<Serialized<() => void>, never>>,
  Expect<Equal<Serialized<Promise<string>>, never>>,
  Expect<Equal<Serialized<{ seats: Map<string, 1>; tags: Set<string> }>, { seats: never; tags: never }>>,
];
