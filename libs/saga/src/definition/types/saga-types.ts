import type { declaredInput, ForEachContext, TransactionalStepContext } from './contexts.js';
import type { Serialized } from '../../shared/serialized.js';
import type { IsRemote, RemoteResult } from './remote-input.js';

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
