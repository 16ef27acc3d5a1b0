import type { StepContext } from '../types/contexts.js';
import type { Duration } from './duration.js';
import type { RetryPolicy } from './retry-policy.js';

/* eslint-disable @typescript-eslint/no-explicit-any -- each saga has an input of its own */
/** Has to depend on its context alone: after a crash it may be asked again. */
export type Predicate = (ctx: StepContext<any, any>) => boolean;
/** Is asked once; what it returned is stored before the first item begins. */
export type ItemsOf<Item = any> = (ctx: StepContext<any, any>) => readonly Item[];
/* eslint-enable @typescript-eslint/no-explicit-any */

/** What a step has in common with the other nodes of a saga's graph. */
export interface NodeOptions<Compensation extends string = string, After extends string = string> {
  /**
   * The method of the same class that undoes this step. A name that does not exist, or a method whose
   * `ctx.result` does not fit what the step returns, does not compile. Default: none, it is not undone.
   */
  compensate?: Compensation;
  /** Steps to wait for; `[]`: none, begin at once. Default: the one declared just before. */
  after?: After | readonly After[];
  /**
   * With several names in `after`. `'all'`: waits until each is done, skipped ones included. `'any'`: goes on as soon as
   * one has completed, and what only the others needed is cancelled, and undone if it completed. Default `'all'`.
   */
  join?: 'all' | 'any';
  /**
   * `false`: the step is skipped, and what waits for it goes on. It has to depend on the context alone. Default: never
   * skipped.
   */
  when?: Predicate;
  /** Durable wait between being ready and beginning; holds no worker. Default: none. */
  delay?: Duration;
  /**
   * A later failure undoes what came after this step (not the step itself) and goes forward again, with `ctx.round`
   * and the idempotency keys of the steps that happen again one higher. `true`: 2 attempts in all, the first included;
   * then the saga turns back fully. Default false.
   */
  savepoint?: boolean | SavepointOptions;
  /** When, and how often, the step is tried again. Default: the saga's, then the module's, and 1 attempt at most once. */
  retry?: RetryPolicy;
  /** When, and how often, its compensation is tried again. Default: the saga's, then the module's. */
  compensationRetry?: RetryPolicy;
}

/** What `@SubSaga` takes. */
export interface SubSagaOptions<
  Compensation extends string = string,
  After extends string = string,
> extends NodeOptions<Compensation, After> {
  /** Point of no return: once the sub-saga has completed, this saga only goes forward. Default false. */
  pivot?: boolean;
}

/** What `@RemoteStep` takes. `retry` is about its method, which gives the handler's input: the handler has its own. */
export interface RemoteStepOptions<
  Compensation extends string = string,
  After extends string = string,
> extends SubSagaOptions<Compensation, After> {
  /** The version of the handler that is asked for: a whole number from 1. Default 1. */
  version?: number;
}

/** What `@WaitFor` and `@Approval` have in common. */
export interface WaitOptions<
  Compensation extends string = string,
  After extends string = string,
> extends NodeOptions<Compensation, After> {
  /** From when the saga begins to wait; past it the step has failed, and the saga turns back. Default: none. */
  timeout?: Duration;
  /** Point of no return: once this step has completed, the saga only goes forward. Default false. */
  pivot?: boolean;
}

/** What `@WaitFor` takes. */
export interface WaitForOptions<
  Compensation extends string = string,
  After extends string = string,
> extends WaitOptions<Compensation, After> {
  /** The name of the signal: 1 to 200 characters. Those that begin with `approval:` are kept for `@Approval`. */
  signal: string;
}

/** What `@Approval` takes. */
export type ApprovalOptions<
  Compensation extends string = string,
  After extends string = string,
> = WaitOptions<Compensation, After>;

/** What a person has decided, as the method of an `@Approval` is given it: only what was approved comes so far. */
export interface ApprovalDecision {
  /** Who approved. */
  readonly by: string;
  /** Why, if that was said. */
  readonly comment?: string;
  /** When; ISO 8601. */
  readonly at: string;
}

/** How often a savepoint is tried from. */
export interface SavepointOptions {
  /** Rounds in all, the first included: a whole number from 2. */
  attempts: number;
}

/** How often attempts of a step may begin, across all processes. */
export interface RateLimit {
  /** Attempts: a whole number from 1. */
  count: number;
  /** Within any window of this length. */
  per: Duration;
}

/** What `@Step` takes. */
export interface StepOptions<
  Compensation extends string = string,
  Transactional extends boolean = boolean,
  After extends string = string,
  Probe extends string = string,
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- whatever the items are
  Item = any,
> extends NodeOptions<Compensation, After> {
  /** Per attempt; past it `ctx.signal` aborts and the attempt's outcome is unknown. Default: none. */
  timeout?: Duration;
  /**
   * `ctx.manager`: what the step writes through it and the step's checkpoint commit together. The compensation's too.
   * Default false.
   */
  transactional?: Transactional;
  /**
   * `false`: at most once. The start is recorded before the step runs, and an interrupted one is never run again.
   * Default true.
   */
  idempotent?: boolean;
  /** Also undo this step when it is the one that definitely failed; default false. */
  compensateOnFailure?: boolean;
  /**
   * One run of the step per item (`ctx.item`, `ctx.index`), each with its own checkpoint, retries and compensation.
   * The step's result is the array of theirs. 10,000 items at most: more fail the step with SagaPayloadError. Default: one
   * run, without an item.
   */
  forEach?: ItemsOf<Item>;
  /** With `forEach`: items at once, a whole number from 1. Default 10. */
  concurrency?: number;
  /**
   * A method of the class that is asked when an attempt's outcome is unknown (it timed out, threw
   * UnknownOutcomeError, or an at-most-once step was interrupted): returns `{ done: result }`, `'not-done'` or `'unknown'`.
   * Default: nobody is asked.
   */
  probe?: Probe;
  /**
   * Point of no return: once this step has completed, the saga only goes forward, and what gives up waits for a person.
   * Default false.
   */
  pivot?: boolean;
  /** At most `count` attempts of this step begin within `per`, across all processes. Default: none. */
  rateLimit?: RateLimit;
}

/** What a probe found out. */
export type ProbeAnswer<Result = unknown> = { done: Result } | 'not-done' | 'unknown';

/** What any of the decorators may have been given; which one it was says which of these are allowed. */
export type AnyNodeOptions = StepOptions &
  Pick<Partial<WaitForOptions>, 'signal'> &
  Pick<RemoteStepOptions, 'version'>;

/** What `@StepHandler` takes. Its policies are its own, whichever saga asks for it. */
export interface StepHandlerOptions<
  Compensation extends string = string,
  Transactional extends boolean = boolean,
  Probe extends string = string,
> extends Pick<
  StepOptions<Compensation, Transactional, string, Probe>,
  | 'compensate'
  | 'retry'
  | 'compensationRetry'
  | 'timeout'
  | 'transactional'
  | 'idempotent'
  | 'compensateOnFailure'
  | 'probe'
  | 'rateLimit'
> {
  /**
   * A whole number from 1; default 1. A handler that is given or returns something else is another version: have both for
   * as long as sagas ask for the one before.
   */
  version?: number;
  /** Calls of it that are under way at once, across all processes; default: as many as workers have room for. */
  concurrency?: number;
  /**
   * Fields of what it is given, and of its result, that are never shown to operators, as in `@Saga({ redact })`.
   * Default: none.
   */
  redact?: readonly string[];
}
