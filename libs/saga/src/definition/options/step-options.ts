import type { StepContext } from '../types/contexts.js';
import { type Duration, LONGEST_TIMER } from './duration.js';
import { type Limit, limit, type RateLimit, rateLimit } from './limit-options.js';
import * as kind from './kinds.js';
import {
  type Kind,
  optional,
  type OptionsRead,
  type OptionTable,
  required,
  withDefault,
} from './option-reader.js';
import { retryPolicy, type RetryPolicy } from './retry-policy.js';
import { redactedPaths } from './saga-options.js';
import { signalName } from './signal-name.js';
import type { TimeOf } from './time-of.js';

/* oxlint-disable typescript/no-explicit-any -- each saga has an input of its own */
/** Decides whether a step runs. It must depend on its context alone, because it may be called again after a crash. */
export type Predicate = (ctx: StepContext<any, any>) => boolean;
/** Returns the items of a step. It is called once, and its result is stored before the first item begins. */
export type ItemsOf<Item = any> = (ctx: StepContext<any, any>) => readonly Item[];
/* oxlint-enable typescript/no-explicit-any */

/** The items of a step without `forEach`: a type that no list can have. */
declare const noItems: unique symbol;
export interface NoItems {
  readonly [noItems]: never;
}
/** `Then`, unless the step has no items; `any` and `never`, which `[]` is made of, are items. */
export type IfItems<Item, Then, Else> = 0 extends 1 & Item
  ? Then
  : [Item] extends [never]
    ? Then
    : [Item] extends [NoItems]
      ? Else
      : Then;
/** The item of a key's context. */
type ItemOf<Item> = IfItems<Item, Item, undefined>;

/** Options that all nodes of a saga's graph share. */
export interface NodeOptions<Compensation extends string = string, After extends string = string> {
  /**
   * The method of the same class that compensates this step. The compiler rejects an unknown name, or a method whose
   * `ctx.result` does not match the step's return type. Default: none, the step is not compensated.
   */
  compensate?: Compensation;
  /** The steps to wait for. `[]`: begin at once. Default: the step declared just before. */
  after?: After | readonly After[];
  /**
   * How to wait for several steps in `after`. `'all'`: until each has completed or was skipped. `'any'`: until one has
   * completed; the steps that only the others need are cancelled, and compensated if they completed. Default: `'all'`.
   */
  join?: 'all' | 'any';
  /**
   * Returns `false` to skip the step; the steps that wait for it continue. It must depend on the context alone.
   * Default: never skipped.
   */
  when?: Predicate;
  /**
   * A durable delay before the step begins, or a function that returns it, or a date. It holds no worker. Default: none.
   */
  delay?: Duration | TimeOf;
  /**
   * Makes the step a savepoint. A later failure compensates the steps after it (not the step itself), and the saga goes
   * forward again, with `ctx.round` and the idempotency keys of the repeated steps one higher. `true`: 2 attempts in
   * all, the first included; then the saga compensates fully. Default: false.
   */
  savepoint?: boolean | SavepointOptions;
  /**
   * What follows if this step fails permanently (error, rejection, timeout, unknown outcome). `'compensate'`: the saga
   * compensates, or does what `@Saga({ onFailure })` says. `'continue'`: the step is optional. The saga goes forward
   * without it: the steps that wait for it start at once and find `undefined` as its result. What the step did, or may
   * have done, is compensated meanwhile. A pivot cannot be optional. Default: `'compensate'`.
   */
  onFailure?: 'compensate' | 'continue';
  /** The retry policy of the step. Default: the saga's, then the module's, and 1 attempt if `idempotent` is false. */
  retry?: RetryPolicy;
  /** The retry policy of the compensation. Default: the saga's, then the module's. */
  compensationRetry?: RetryPolicy;
  /**
   * The maximum duration of an attempt of the compensation. After it, `ctx.signal` aborts, and the attempt has failed.
   * Default: the `timeout` of a `@Step`, otherwise none.
   */
  compensationTimeout?: Duration;
}

/** Options of `@SubSaga`. */
export interface SubSagaOptions<
  Compensation extends string = string,
  After extends string = string,
> extends NodeOptions<Compensation, After> {
  /** Point of no return: once the sub-saga has completed, this saga only goes forward. Default: false. */
  pivot?: boolean;
}

/**
 * Options of `@RemoteStep`. `retry` applies to its method, which returns the handler's input. The handler has its own
 * policy.
 */
export interface RemoteStepOptions<
  Compensation extends string = string,
  After extends string = string,
> extends SubSagaOptions<Compensation, After> {
  /** The version of the handler, a whole number from 1. Default: 1. */
  version?: number;
}

/** Options that `@WaitFor` and `@Approval` share. */
export interface WaitOptions<
  Compensation extends string = string,
  After extends string = string,
> extends NodeOptions<Compensation, After> {
  /**
   * The maximum time to wait, from the time at which the saga begins to wait, or a function that returns it, or a date.
   * After it, the step fails and the saga compensates. Default: none.
   */
  timeout?: Duration | TimeOf;
  /** Point of no return: once this step has completed, the saga only goes forward. Default: false. */
  pivot?: boolean;
}

/** Options of `@WaitFor`. */
export interface WaitForOptions<
  Compensation extends string = string,
  After extends string = string,
> extends WaitOptions<Compensation, After> {
  /** The name of the signal: 1 to 200 characters. Names that begin with `approval:` are reserved for `@Approval`. */
  signal: string;
}

/** Options of `@Approval`. */
export interface ApprovalOptions<
  Compensation extends string = string,
  After extends string = string,
> extends WaitOptions<Compensation, After> {
  /**
   * The number of different operators (`by`) who have to approve the step, a whole number from 1 to 10. One rejection
   * rejects it. Default: 1.
   */
  quorum?: number;
}

/** The approval that the method of an `@Approval` step receives. After a rejection, the method is not called. */
export interface ApprovalDecision {
  /** The operator who approved. */
  readonly by: string;
  /** The comment, if the operator gave one. */
  readonly comment?: string;
  /** The time of the decision, ISO 8601. */
  readonly at: string;
  /** With a `quorum` above 1, all approvals in their order. The last one is the decision. */
  readonly approvals?: readonly Omit<ApprovalDecision, 'approvals'>[];
}

/** Options of a savepoint. */
export interface SavepointOptions {
  /** The number of rounds in all, the first included: a whole number from 2. */
  attempts: number;
}

/** The confirmation that a compensation waits for. */
export interface CompensationReply {
  /**
   * The name of the signal by which the participant confirms: 1 to 200 characters. No other step of the saga may wait for
   * it. One that arrives before the compensation waits for it is kept.
   */
  signal: string;
  /**
   * The maximum time to wait for it, from the end of the method. After it, the attempt of the compensation has failed,
   * and `compensationRetry` applies. Default: none, the compensation waits until the signal arrives.
   */
  timeout?: Duration;
}

/** Options of `@Step`. */
export interface StepOptions<
  Compensation extends string = string,
  Transactional extends boolean = boolean,
  After extends string = string,
  Probe extends string = string,
  // oxlint-disable-next-line typescript/no-explicit-any -- whatever the input is
  Input = any,
  // oxlint-disable-next-line typescript/no-explicit-any -- whatever the items are
  Item = any,
> extends NodeOptions<Compensation, After> {
  /**
   * The maximum duration of an attempt. After it, `ctx.signal` aborts, and the attempt's outcome is unknown. Default:
   * none.
   */
  timeout?: Duration;
  /**
   * The maximum time between two heartbeats (`ctx.heartbeat()`) of an attempt, and before the first one. After it,
   * `ctx.signal` aborts, and the attempt is lost: its outcome is unknown, and the next attempt finds the details of the last
   * heartbeat in `ctx.lastHeartbeat`. It must be shorter than `timeout`, and is not for transactional steps. It does not
   * apply to the compensation. Default: none.
   */
  heartbeat?: Duration;
  /**
   * Runs the step in a transaction: writes through `ctx.transaction` (TypeORM: `ctx.manager`, too) commit together with
   * the step's checkpoint. This also applies to its compensation. Default: false.
   */
  transactional?: Transactional;
  /**
   * `false`: at most once. The start is recorded before the step runs, and an interrupted step never runs again.
   * Default: true.
   */
  idempotent?: boolean;
  /** Whether to compensate this step also if it is the step that failed. Default: false. */
  compensateOnFailure?: boolean;
  /**
   * The method of the compensation only requests it: the step is compensated when this signal arrives, and not before.
   * Default: none, the step is compensated when the method returns.
   */
  compensationReply?: CompensationReply;
  /**
   * Runs the step once per item (`ctx.item`, `ctx.index`), each with its own checkpoint, retries and compensation. The
   * step's result is the array of the items' results. More than 100,000 items fail the step with SagaPayloadError.
   * Default: one run, without an item.
   */
  forEach?: ItemsOf<Item>;
  /**
   * The maximum number of items of one saga that run at once, a whole number from 1. It requires `forEach`. Default: 10,
   * or the `limit` of the step if that is lower and has no `key`.
   */
  itemsAtOnce?: number;
  /**
   * The maximum number of attempts of this step, or of its items, in progress at once, over all sagas and processes: a
   * whole number from 1, or `{ count, key? }`. With `key`, each key has `count` of them. Other attempts wait in their
   * order, without a worker. Default: no limit.
   */
  limit?: number | Limit<Input, ItemOf<NoInfer<Item>>>;
  /**
   * A method of the class that determines an unknown outcome (after a timeout, UnknownOutcomeError, or an interrupted
   * at-most-once step). It returns `{ done: result }`, `'not-done'` or `'unknown'`. Default: none.
   */
  probe?: Probe;
  /**
   * Point of no return: once this step has completed, the saga only goes forward. A later step that fails permanently
   * makes the saga `stuck` until an operator acts. Default: false.
   */
  pivot?: boolean;
  /**
   * The maximum number of attempts (`count`) that begin within `per`, across all processes; with `key`, for each key.
   * Default: none.
   */
  rateLimit?: RateLimit<Input, ItemOf<NoInfer<Item>>>;
}

/** The result of a probe. */
export type ProbeAnswer<Result = unknown> = { done: Result } | 'not-done' | 'unknown';

const REPLY_EXAMPLE = "such as { signal: 'refund-reply', timeout: '10m' }";
/** The approvals of a step that is not decided are loaded with its saga each time. */
const LARGEST_QUORUM = 10;

/** `true` has 2 rounds in all, the first included. With fewer, nothing would ever return to the savepoint. */
const savepoint: Kind<boolean | SavepointOptions, SavepointOptions> = {
  read: (value, option, reader) => {
    if (value === false) return undefined;
    return value === true
      ? { attempts: 2 }
      : reader.below(SAVEPOINT_OPTIONS, value, option, 'true, or { attempts: 3 }');
  },
};
export const SAVEPOINT_OPTIONS = {
  attempts: required(kind.count(2)),
} satisfies OptionTable<SavepointOptions>;

const COMPENSATION_REPLY = {
  signal: required(signalName),
  timeout: optional(kind.duration({ zero: 'would wait for nothing' })),
} satisfies OptionTable<CompensationReply>;

/** The duration of an attempt, which timers in memory end. */
const attemptTime = (zero: string) => optional(kind.duration({ longest: LONGEST_TIMER, zero }));
const no = withDefault(kind.flag, false);

export const NODE_OPTIONS = {
  compensate: optional(kind.anything<string>()),
  after: optional(kind.anything<string | readonly string[]>()),
  join: optional(kind.oneOf('all', 'any')),
  when: optional(kind.func<Predicate>()),
  delay: optional(kind.orFunction<Duration, number, TimeOf>(kind.duration())),
  savepoint: optional(savepoint),
  onFailure: withDefault(kind.oneOf('compensate', 'continue'), 'compensate'),
  retry: optional(retryPolicy),
  compensationRetry: optional(retryPolicy),
  compensationTimeout: attemptTime('would fail every attempt of the compensation'),
} satisfies OptionTable<NodeOptions>;
export const SUB_SAGA_OPTIONS = { ...NODE_OPTIONS, pivot: no } satisfies OptionTable<SubSagaOptions>;
export const REMOTE_STEP_OPTIONS = {
  ...SUB_SAGA_OPTIONS,
  version: withDefault(kind.count(), 1),
} satisfies OptionTable<RemoteStepOptions>;
const WAIT_OPTIONS = {
  ...SUB_SAGA_OPTIONS,
  timeout: optional(
    kind.orFunction<Duration, number, TimeOf>(kind.duration({ zero: 'would wait for nothing' })),
  ),
} satisfies OptionTable<WaitOptions>;
export const WAIT_FOR_OPTIONS = {
  ...WAIT_OPTIONS,
  signal: required(signalName),
} satisfies OptionTable<WaitForOptions>;
export const APPROVAL_OPTIONS = {
  ...WAIT_OPTIONS,
  quorum: withDefault(kind.count(1, LARGEST_QUORUM), 1),
} satisfies OptionTable<ApprovalOptions>;
/** The options of steps that do their work themselves. */
export const WORK_OPTIONS = {
  timeout: attemptTime('would fail every attempt'),
  heartbeat: attemptTime('would lose every attempt'),
  transactional: no,
  idempotent: withDefault(kind.flag, true),
  compensateOnFailure: no,
  compensationReply: optional(kind.object(COMPENSATION_REPLY, REPLY_EXAMPLE)),
  forEach: optional(kind.func<ItemsOf>()),
  itemsAtOnce: optional(kind.count()),
  limit: optional(limit),
  probe: optional(kind.anything<string>()),
  rateLimit: optional(rateLimit),
} satisfies OptionTable<Omit<StepOptions, keyof SubSagaOptions>>;
export const STEP_OPTIONS = { ...SUB_SAGA_OPTIONS, ...WORK_OPTIONS } satisfies OptionTable<StepOptions>;

/** Options that the node of a step has in another form. */
const CONVERTED = [
  'after',
  'join',
  'delay',
  'timeout',
  'itemsAtOnce',
  'onFailure',
  'retry',
  'compensationRetry',
] as const;
type Converted = (typeof CONVERTED)[number];
/** All other options. The node of a step has them as they are read: durations in milliseconds, and defaults. */
export type OptionsOfNode = Omit<OptionsRead<typeof STEP_OPTIONS>, Converted>;
const OPTIONS_OF_NODE = Object.keys(STEP_OPTIONS).filter(
  (name) => !CONVERTED.includes(name as Converted),
) as (keyof OptionsOfNode)[];

/** Copies the options that a node has as they are read. */
export function optionsOfNode<T extends Partial<Record<keyof OptionsOfNode, unknown>>>(
  given: T,
): Pick<T, keyof T & keyof OptionsOfNode> {
  return Object.fromEntries(OPTIONS_OF_NODE.map((name) => [name, given[name]])) as T;
}

/** The options of any decorator of a step, as they are read. Each decorator has some of them. */
export type NodeOptionsRead = Omit<OptionsRead<typeof STEP_OPTIONS>, 'timeout'> &
  Partial<
    OptionsRead<typeof WAIT_FOR_OPTIONS> &
      OptionsRead<typeof APPROVAL_OPTIONS> &
      OptionsRead<typeof REMOTE_STEP_OPTIONS>
  >;

/** The options of a step that a handler has, too. */
const HANDLER_STEP_OPTIONS = [
  'compensate',
  'retry',
  'compensationRetry',
  'compensationTimeout',
  'timeout',
  'heartbeat',
  'transactional',
  'idempotent',
  'compensateOnFailure',
  'probe',
  'rateLimit',
] as const;
type HandlerStepOption = (typeof HANDLER_STEP_OPTIONS)[number];

/** Options of `@StepHandler`. Its policies apply to calls from all sagas. */
export interface StepHandlerOptions<
  Compensation extends string = string,
  Transactional extends boolean = boolean,
  Probe extends string = string,
  // oxlint-disable-next-line typescript/no-explicit-any -- whatever the input is
  Input = any,
> extends Pick<StepOptions<Compensation, Transactional, string, Probe, Input, NoItems>, HandlerStepOption> {
  /**
   * The version of the handler, a whole number from 1. If the input or the result changes, declare a new version, and
   * keep the old handler while sagas use it. Default: 1.
   */
  version?: number;
  /**
   * The maximum number of its calls that run at once, across all processes: a whole number from 1. Default: no limit
   * beyond the workers' own.
   */
  limit?: number;
  /** Fields of the input and the result that operators never see, as in `@Saga({ redact })`. Default: none. */
  redact?: readonly string[];
}

export const STEP_HANDLER_OPTIONS = {
  ...(Object.fromEntries(HANDLER_STEP_OPTIONS.map((name) => [name, STEP_OPTIONS[name]])) as Pick<
    typeof STEP_OPTIONS,
    HandlerStepOption
  >),
  version: withDefault(kind.count(), 1),
  limit: optional(kind.count()),
  redact: optional(redactedPaths),
} satisfies OptionTable<StepHandlerOptions>;
