import type { StepContracts } from './step-contracts.js';

/** Carries the declared input type for InputOf; exists for the compiler only. */
export declare const declaredInput: unique symbol;

/* oxlint-disable typescript/no-explicit-any -- what is not declared is not checked */
type Unchecked = (input: any) => any;

/** The contract that a name stands for, or a function type itself. */
type ContractOf<C> = C extends keyof StepContracts
  ? StepContracts[C]
  : C extends (...args: any) => any
    ? C
    : Unchecked;

/** What a handler is given. Of a handler's own method it is what its context declares. */
export type ContractInput<C> =
  ContractOf<C> extends (...args: infer Args) => any
    ? Args extends readonly [infer Asked, ...unknown[]]
      ? 0 extends 1 & Asked
        ? Asked
        : typeof declaredInput extends keyof Asked
          ? Asked extends { readonly [declaredInput]?: { readonly input: infer Input } }
            ? Input
            : never
          : Asked
      : undefined
    : never;

export type ContractResult<C> = ContractOf<C> extends (...args: any) => infer R ? Awaited<R> : never;

/** Carries the contract of a remote step; exists for the compiler only. */
declare const remoteContract: unique symbol;
interface Remote<C> {
  readonly [remoteContract]: C;
}

/**
 * The input of a handler, as the return type of a `@RemoteStep` method: `ctx.results` then knows that the step's
 * result is what the handler returns. With another return type it takes it for the input.
 *
 * `C`: a name of StepContracts; the handler's method, as in `RemoteInput<StockHandlers['reserve']>`, of which a type
 * import is enough; or any function from what it is given to what it returns.
 */
// oxlint-disable-next-line typescript/no-redundant-type-constituents -- it has none here, and those of the application there
export type RemoteInput<C extends keyof StepContracts | ((...args: never[]) => unknown)> =
  | ContractInput<C>
  | Remote<C>;

/** What a `@RemoteStep` method may return: the input, and no other handler's. */
export type InputGiven<Name extends string> =
  | ContractInput<Name>
  | Remote<Name | ((...args: any) => any)>
  | Promise<ContractInput<Name> | Remote<Name | ((...args: any) => any)>>;

/** What a remote step comes to whose method returns this; undefined: it does not say. */
export type RemoteResult<R> = [Extract<R, Remote<unknown>>] extends [never]
  ? undefined
  : Extract<R, Remote<unknown>> extends Remote<infer C>
    ? ContractResult<C>
    : never;

/** Does a method of this return type say which handler its step's result comes from? */
export type IsRemote<R> = 0 extends 1 & R
  ? false
  : [Extract<R, Remote<unknown>>] extends [never]
    ? false
    : true;
/* oxlint-enable typescript/no-explicit-any */
