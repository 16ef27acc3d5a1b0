import type { EntityManager } from 'typeorm';
import type { OutboxMessage } from './outbox-message.js';
import type { SagaFailure } from './saga-failure.js';
import type { declaredInput, IsRemote, RemoteResult } from './remote-input.js';
import type { Serialized } from '../../shared/serialized.js';

/**
 * Makes the compiler compare contexts by what they hold: it would take the conditional types in them for
 * invariant, and refuse to pass a `StepContext<Order>` where a `StepContext` is asked for. TypeScript 5 compares the members
 * of an interface before its symbols, and those of its bases last: the other members of a context are in a base.
 */
export declare const comparedByStructure: unique symbol;
export type Compared<T> = { [K in Extract<keyof T, never>]: T[K] };

/** What `ctx.progress()` shows of a step in progress. */
export interface ProgressReport {
  /** How much is done: 0 to 100. Default: not known. */
  readonly percent?: number;
  /** What the step does, for people: at most 500 characters. Default: none. */
  readonly message?: string;
}

/** The context that every method of a saga receives. */
interface RunContext<Input, Steps> {
  /** @hidden */
  readonly [declaredInput]?: { readonly input: Input };
  /** The saga's id, a UUID. */
  readonly sagaId: string;
  /** The correlation id, or the id of the saga if it was started without one. */
  readonly correlationId: string;
  /** A copy of the saga's tags, those that this attempt has set included. Empty if it has none. */
  readonly tags: Readonly<Record<string, string>>;
  /** The step's name, which is its method's. */
  readonly step: string;
  /** A copy of the saga's input in its stored form. Changing it does not affect other steps. */
  readonly input: Serialized<Input>;
  /** The number of the attempt, from 1. Attempts that were lost with their worker count. */
  readonly attempt: number;
  /** The results of the completed steps, by step name. */
  readonly results: ResultsOf<Steps>;
  /**
   * Sends a message to other services if, and only if, the result of this method is stored. The default key is the
   * saga's id.
   * @throws SagaPayloadError that names the invalid part of the message
   */
  publish(message: OutboxMessage): void;
  /**
   * Adds tags to the saga, or changes those that it has, if, and only if, the result of this method is stored: in the same
   * commit. `null` removes a tag. `ctx.tags` has them at once; `get()` and `find({ tags })`, and the other steps, once they
   * are stored. An attempt that fails changes nothing.
   * @throws SagaValidationError unless keys and values are strings of 1 to 255 characters, and the saga has at most 100
   * tags
   * @throws SagaStateError after the method has returned
   */
  setTags(tags: Readonly<Record<string, string | null>>): void;
  /** Aborts on timeout, cancellation, lost lease and shutdown. Pass it to `fetch` and similar calls. */
  readonly signal: AbortSignal;
  /**
   * The transaction in transactional steps, as the application's database layer has it. Its writes commit together with
   * the step's checkpoint.
   */
  readonly transaction?: unknown;
  /** With TypeORM: the same as `transaction`. */
  readonly manager?: EntityManager;
  /** The item of this run in its stored form, in a step with `forEach`. */
  readonly item?: unknown;
  /** The index of the item, from 0, in a step with `forEach`. */
  readonly index?: number;
  /**
   * The fencing token: it rises whenever a worker takes the saga. A participant that stores the highest token can refuse
   * calls of a worker that has lost its lease. `String(token)` writes it into a header.
   */
  readonly fencingToken: bigint;
  /**
   * Shows how far the method is: in `get()`, `watch()`, the dashboard and the command line, until the step has ended. It
   * returns at once. The latest report is stored at most once a second, with those of other sagas. It is not durable
   * before that, and a report in a transactional step is stored with the next renewal of the lease only.
   * @throws SagaValidationError for a percentage that is not from 0 to 100, a message that is too long, and unknown
   * options
   */
  progress(report: ProgressReport): void;
  /**
   * Reports that the method is alive, with details for the next attempt (16 KB of JSON at most), such as the last line that
   * it has imported. The latest details are stored at most once a second. If the method fails, they are stored before the
   * next attempt; if the process dies, up to a second of them is lost. The call gives other work of the process its turn,
   * so that a loop which awaits it blocks nothing.
   * @throws StepAbortedError (the promise rejects) once `ctx.signal` is aborted
   * @throws SagaPayloadError if JSON cannot represent the details, or they are too large
   */
  heartbeat(details?: unknown): Promise<void>;
  /**
   * The details of the last heartbeat of earlier attempts and of this one, in their stored form. Absent if there is none.
   * Type it with `HeartbeatContext`.
   */
  // oxlint-disable-next-line typescript/no-explicit-any -- an untyped context cannot know them
  readonly lastHeartbeat?: any;
}

interface StepRunContext<Input, Steps> extends RunContext<Input, Steps> {
  /**
   * The idempotency key `<sagaId>:<step>`, the same on every attempt: a participant should do the work once per key.
   * The key of an item is `<sagaId>:<step>[3]`. After a rollback to a savepoint, after which the work must happen
   * again, it ends with `~2`, `~3`, …
   */
  readonly idempotencyKey: string;
  /** 1, or more after a rollback to a savepoint. */
  readonly round: number;
}

interface KeyBaseContext<Input, Item> {
  /** @hidden */
  readonly [declaredInput]?: { readonly input: Input };
  /** A copy of the saga's input in its stored form. */
  readonly input: Serialized<Input>;
  /** The item in its stored form, in a step with `forEach`. */
  readonly item: Serialized<Item>;
  /** A copy of the saga's tags: of a saga's key those of its start, of a step's key the present ones. Empty if it has none. */
  readonly tags: Readonly<Record<string, string>>;
}

/** What the key of a lock or a limit is computed from. */
export interface KeyContext<Input = unknown, Item = unknown> extends KeyBaseContext<Input, Item> {
  /** @hidden */
  readonly [comparedByStructure]?: { input?: Compared<Input>; item?: Compared<Item> };
}

/** The context that a step's method receives. */
export interface StepContext<Input = unknown, Steps = unknown> extends StepRunContext<Input, Steps> {
  /** @hidden */
  readonly [comparedByStructure]?: { input?: Compared<Input>; results?: Compared<Steps> };
}

interface HeartbeatRunContext<Input, Details, Steps> extends StepContext<Input, Steps> {
  /** See `StepContext`. */
  heartbeat(details?: Details): Promise<void>;
  /** The details of the last heartbeat of earlier attempts and of this one, in their stored form. */
  readonly lastHeartbeat?: Serialized<Details>;
}

/** The context of a step that reports heartbeats: a StepContext whose details have a type. */
export interface HeartbeatContext<
  Input = unknown,
  Details = unknown,
  Steps = unknown,
> extends HeartbeatRunContext<Input, Details, Steps> {
  /** @hidden */
  readonly [comparedByStructure]?: {
    input?: Compared<Input>;
    details?: Compared<Details>;
    results?: Compared<Steps>;
  };
}

/** The transaction of a context, and the manager if it is TypeORM's. */
export type InTransaction<Tx> = {
  /** The transaction in which the checkpoint is stored: the type that the application's database layer gives it. */
  readonly transaction: Tx;
} & ([Tx] extends [EntityManager]
  ? {
      /** Another name of `transaction`. */
      readonly manager: Tx;
    }
  : unknown);

/**
 * The context of a `transactional: true` step. `Tx` is the transaction of the application's database layer: `PoolClient`
 * with `nestjs-durable-saga/pg`, for example. Default: TypeORM's EntityManager.
 */
export type TransactionalStepContext<Input = unknown, Steps = unknown, Tx = EntityManager> = StepContext<
  Input,
  Steps
> &
  InTransaction<Tx>;

interface ItemRunContext<Input, Item, Steps> extends StepContext<Input, Steps> {
  /** The item of this run in its stored form. */
  readonly item: Serialized<Item>;
  /** The index of the item, from 0. */
  readonly index: number;
}

/** The context of a step with `forEach`: a StepContext whose item is set. */
export interface ForEachContext<Input = unknown, Item = unknown, Steps = unknown> extends ItemRunContext<
  Input,
  Item,
  Steps
> {
  /** @hidden */
  readonly [comparedByStructure]?: {
    input?: Compared<Input>;
    item?: Compared<Item>;
    results?: Compared<Steps>;
  };
}

interface CompensationRunContext<Input, Result, Steps> extends RunContext<Input, Steps> {
  /** The step's result. `undefined` if its outcome is unknown, because it timed out or was lost with its worker. */
  readonly result: Serialized<Result> | undefined;
  /** The failure that made the saga compensate. */
  readonly failure: SagaFailure;
  /** `<sagaId>:<step>:compensate`, the same on every attempt. */
  readonly idempotencyKey: string;
}

/** The context that a compensation receives. */
export interface CompensationContext<
  Input = unknown,
  Result = unknown,
  Steps = unknown,
> extends CompensationRunContext<Input, Result, Steps> {
  /** @hidden */
  readonly [comparedByStructure]?: {
    input?: Compared<Input>;
    result?: Compared<Result>;
    results?: Compared<Steps>;
  };
}

/** The context of the compensation of a `transactional: true` step. Its writes and its checkpoint commit together. */
export type TransactionalCompensationContext<
  Input = unknown,
  Result = unknown,
  Steps = unknown,
  Tx = EntityManager,
> = CompensationContext<Input, Result, Steps> & InTransaction<Tx>;

interface ItemCompensationRunContext<Input, Result, Item, Steps> extends CompensationContext<
  Input,
  Result,
  Steps
> {
  /** The item that is compensated, in its stored form. */
  readonly item: Serialized<Item>;
  /** The index of the item, from 0. */
  readonly index: number;
}

/** The context of the compensation of a step with `forEach`. Each completed item is compensated separately. */
export interface ItemCompensationContext<
  Input = unknown,
  Result = unknown,
  Item = unknown,
  Steps = unknown,
> extends ItemCompensationRunContext<Input, Result, Item, Steps> {
  /** @hidden */
  readonly [comparedByStructure]?: {
    input?: Compared<Input>;
    result?: Compared<Result>;
    item?: Compared<Item>;
    results?: Compared<Steps>;
  };
}

/**
 * A step's method can be called with a step's context, and what it waited for. That leaves out compensations, which ask for a `failure`,
 * and helpers that ask for something else.
 */
/* oxlint-disable typescript/no-explicit-any -- what it asks of the saga does not matter here */
type StepMethod = (
  ctx: TransactionalStepContext<any, any, any> & ForEachContext<any, any, any>,
  payload: any,
) => unknown;
/* oxlint-enable typescript/no-explicit-any */

/** Carries the class of a sub-saga; exists for the compiler only. */
declare const startedSaga: unique symbol;

/**
 * Declares the input of a saga as the return type of a `@SubSaga` method. `ctx.results` then has the type of that
 * saga's results. With another return type, `ctx.results` has the type of the input.
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

/**
 * A method that takes an index runs once per item. The result of its step is the array of the results of those runs.
 */
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
 * The input of a saga: the type that its steps declare in `StepContext<Input>`. Steps can declare only the part that
 * they use. The input must satisfy all of them.
 */
export type InputOf<S> = unknown extends S
  ? unknown
  : [InputsAsked<S>] extends [never]
    ? unknown
    : InputsAsked<S> extends (input: infer I) => void
      ? I
      : never;

/** The results of a saga's steps by name, in their stored form. A step with a ForEachContext has an array. */
export type ResultsOf<S> = 0 extends 1 & S
  ? S
  : unknown extends S
    ? // oxlint-disable-next-line typescript/no-explicit-any -- an untyped context cannot know them
      Readonly<Record<string, any>>
    : {
        readonly [K in keyof S as S[K] extends StepMethod ? K : never]: Serialized<ResultOf<S[K]>>;
      };
