import type { EntityManager } from 'typeorm';
import type { OutboxMessage } from './outbox-message.js';
import type { SagaFailure } from './saga-failure.js';
import type { declaredInput } from './declared-input.js';
import type { IsRemote, RemoteResult } from './remote-input.js';
import type { Serialized } from '../../shared/serialized.js';

/**
 * Makes the compiler compare contexts by what they hold: it would take the conditional types in them for
 * invariant, and refuse to pass a `StepContext<Order>` where a `StepContext` is asked for.
 */
declare const comparedByStructure: unique symbol;
type Compared<T> = { [K in keyof T as never]: T[K] };

/** What every method of a saga is given. */
interface RunContext<Input, S> {
  /** @hidden */
  readonly [declaredInput]?: { readonly input: Input };
  /** The saga's id, a UUID. */
  readonly sagaId: string;
  /** The application's name for the saga; its id, unless it was started with one. */
  readonly correlationId: string;
  /** The step's name, which is its method's. */
  readonly step: string;
  /** A copy of the saga's input, in its stored form; changing it changes nothing for other steps. */
  readonly input: Serialized<Input>;
  /** 1, 2, …; an attempt that was lost with its worker counts. */
  readonly attempt: number;
  /** The results of the steps that completed, by step name. */
  readonly results: ResultsOf<S>;
  /**
   * Sends a message to other services if, and only if, what this method comes to is stored; default key: the saga's id.
   * @throws SagaPayloadError naming what is wrong with it
   */
  publish(message: OutboxMessage): void;
  /** Aborts on timeout, cancellation, lost lease and shutdown; pass it on to `fetch` and its like. */
  readonly signal: AbortSignal;
  /** Set in transactional steps: what is written through it commits together with the step's checkpoint. */
  readonly manager?: EntityManager;
  /** Of a step with `forEach`: the item that this run is for, in its stored form. */
  readonly item?: unknown;
  /** Of a step with `forEach`: the item's place in the list, from 0. */
  readonly index?: number;
}

/** What a step's method is given. */
export interface StepContext<Input = unknown, S = unknown> extends RunContext<Input, S> {
  /** @hidden */
  readonly [comparedByStructure]?: Compared<[Input, S]>;
  /**
   * `<sagaId>:<step>`, the same on every attempt: whoever sees it twice should do the work once. Of an item
   * `<sagaId>:<step>[3]`; after a rollback to a savepoint, where the work has to be done again, with `~2`, `~3`, …
   */
  readonly idempotencyKey: string;
  /** 1; more after a rollback to a savepoint. */
  readonly round: number;
}

/** What a `transactional: true` step's method may ask for: as StepContext, with the manager certainly there. */
export type TransactionalStepContext<Input = unknown, S = unknown> = StepContext<Input, S> & {
  /** Of the transaction in which the step's checkpoint is stored. */
  readonly manager: EntityManager;
};

/** What the method of a step with `forEach` may ask for: as StepContext, with the item certainly there. */
export interface ForEachContext<Input = unknown, Item = unknown, S = unknown> extends StepContext<Input, S> {
  /** @hidden */
  readonly [comparedByStructure]?: Compared<[Input, Item, S]>;
  /** The item that this run is for, in its stored form. */
  readonly item: Serialized<Item>;
  /** The item's place in the list, from 0. */
  readonly index: number;
}

/** What a compensation is given. */
export interface CompensationContext<Input = unknown, Result = unknown, S = unknown> extends RunContext<
  Input,
  S
> {
  /** @hidden */
  readonly [comparedByStructure]?: Compared<[Input, Result, S]>;
  /** What the step returned; `undefined` when its outcome is unknown (it timed out, or was lost with its worker). */
  readonly result: Serialized<Result> | undefined;
  /** What made the saga turn back. */
  readonly failure: SagaFailure;
  /** `<sagaId>:<step>:compensate`, the same on every attempt. */
  readonly idempotencyKey: string;
}

/** What the compensation of a `transactional: true` step may ask for: its undoing and its checkpoint are one commit. */
export type TransactionalCompensationContext<
  Input = unknown,
  Result = unknown,
  S = unknown,
> = CompensationContext<Input, Result, S> & {
  /** Of the transaction in which the compensation's checkpoint is stored. */
  readonly manager: EntityManager;
};

/** What the compensation of a step with `forEach` may ask for: each item that completed is undone by itself. */
export interface ItemCompensationContext<
  Input = unknown,
  Result = unknown,
  Item = unknown,
  S = unknown,
> extends CompensationContext<Input, Result, S> {
  /** @hidden */
  readonly [comparedByStructure]?: Compared<[Input, Result, Item, S]>;
  /** The item that is undone, in its stored form. */
  readonly item: Serialized<Item>;
  /** The item's place in the list, from 0. */
  readonly index: number;
}

/**
 * A step's method can be called with a step's context, and what it waited for. That leaves out compensations, which ask for a `failure`,
 * and helpers that ask for something else.
 */
/* eslint-disable @typescript-eslint/no-explicit-any -- what it asks of the saga does not matter here */
type StepMethod = (
  ctx: TransactionalStepContext<any, any> & ForEachContext<any, any, any>,
  payload: any,
) => unknown;
/* eslint-enable @typescript-eslint/no-explicit-any */

/** Carries the class of a sub-saga; exists for the compiler only. */
declare const startedSaga: unique symbol;

/**
 * The input of a saga, as the return type of a `@SubSaga` method: `ctx.results` then knows that the step's result is
 * that saga's results. With another return type it takes it for the input.
 */
export type SubSagaInput<S> = InputOf<S> & { readonly [startedSaga]?: S };

/** What a method's step comes to. */
type SettledResult<R> = typeof startedSaga extends keyof R
  ? R extends { readonly [startedSaga]?: infer S }
    ? ResultsOf<NonNullable<S>>
    : never
  : IsRemote<R> extends true
    ? RemoteResult<R>
    : R;

/** Whoever asks for an index runs once per item, and its step's result is the array of what those runs return. */
type ResultOf<M> = M extends (...args: infer Args) => infer R
  ? Args extends [{ readonly index: number }]
    ? Awaited<R>[]
    : SettledResult<Awaited<R>>
  : never;

type InputAsked<M> = M extends (ctx: infer C, ...rest: never[]) => unknown
  ? unknown extends C
    ? never
    : C extends { readonly [declaredInput]?: { readonly input: infer I } }
      ? (input: I) => void
      : never
  : never;

/** What each method asks for, as a function of it: inferring from all of them gives what satisfies them all. */
type InputsAsked<S> = { [K in keyof S]-?: InputAsked<S[K]> }[keyof S];

/**
 * The input of a saga: what its steps declare in `StepContext<Input>`. Steps may each declare the part that
 * they need; the input then has to satisfy them all.
 */
export type InputOf<S> = unknown extends S
  ? unknown
  : [InputsAsked<S>] extends [never]
    ? unknown
    : InputsAsked<S> extends (input: infer I) => void
      ? I
      : never;

/** The results of a saga's steps by name, in their stored form; of a step that asks for a ForEachContext, an array. */
export type ResultsOf<S> = 0 extends 1 & S
  ? S
  : unknown extends S
    ? // eslint-disable-next-line @typescript-eslint/no-explicit-any -- an untyped context cannot know them
      Readonly<Record<string, any>>
    : {
        readonly [K in keyof S as S[K] extends StepMethod ? K : never]: Serialized<ResultOf<S[K]>>;
      };
