import type { AttemptError, SagaFailure } from '../definition/types/saga-failure.js';
import {
  type SagaStatus,
  STATUS_GROUPS,
  type StatusOf,
  type StepStatus,
} from '../definition/types/saga-status.js';

/**
 * The saga that a sub-saga step started: what the step last known it, or asked it. `ended`: it completed;
 * `failed`: it compensated, or was aborted.
 */
export interface ChildState {
  readonly id: string;
  readonly phase: 'running' | 'cancelling' | 'ended' | 'failed' | 'undoing' | 'undone';
}

/** What a step waits for, once it does. */
export interface WaitState {
  /** The signal's name. */
  readonly signal: string;
  /** Milliseconds since the epoch: no waiting past it. */
  readonly until?: number;
  /** When it began to wait for an operator's decision; milliseconds since the epoch. Undefined: it waits for something else. */
  readonly since?: number;
  /** The number of people who have to approve. Undefined: one. */
  readonly quorum?: number;
  /** The number of the signal that came. Undefined: none has. */
  readonly takenSignal?: number;
  /** What came with it; JSON text. Undefined: nothing. */
  readonly payload?: string;
}

/** The wait of a step, or an item, until fewer attempts of it are in progress in all sagas together. */
export interface SlotWait {
  /** The key of the limit, if it has one. */
  readonly key?: string;
  /** Since when it waits; milliseconds since the epoch. */
  readonly since: number;
}

/** A lease that ran out while a worker held it. Times are milliseconds since the epoch, by the database's clock. */
export interface LostLease {
  /** The worker's id, `host:process:…`. */
  readonly worker: string;
  /** When the worker took the lease. */
  readonly from: number;
  /** When the lease ran out. */
  readonly until: number;
  /** When another worker took the saga over. */
  readonly takenOver: number;
}

/** An attempt that ended without an outcome, since its worker was lost or let go of it. Times as in `LostLease`. */
export interface LostAttempt {
  readonly attempt: number;
  readonly during: 'step' | 'compensation';
  /** The worker that was lost; undefined: it is not known, or the worker let go of the attempt when it was shut down. */
  readonly worker?: string;
  /** When the attempt began, as far as is recorded: not before this. */
  readonly startedAt?: number;
  /** When the lease ran out, or the worker let go of the attempt. */
  readonly lostAt: number;
  /** When another worker took the saga over. */
  readonly takenOverAt?: number;
}

/**
 * All that has happened to one step. `STEP_FIELDS` says where each field is stored.
 *
 * States are copied by constructors. `{ ...step, status }` gives each copy a hidden class of its own in V8 (seen with
 * Node 20): that takes fifteen times as long as the copy, 340 bytes more, and slows down all code that reads a property of
 * it later. What a constructor makes has one hidden class.
 */
export class StepState {
  /** What has become of it. */
  readonly status: StepStatus;
  /** Attempts begun, those lost with their worker included. */
  readonly attempts: number;
  /** Attempts that failed and count against the retry policy. */
  readonly failures: number;
  /** Some attempt may have taken effect without our knowing. Cleared by completion. */
  readonly unknown: boolean;
  /** Attempts of its compensation begun. */
  readonly compensationAttempts: number;
  /** The attempts of its compensation that count against the retry policy. */
  readonly compensationFailures: number;
  /** Milliseconds since the epoch, by the database's clock: no attempt before. */
  readonly retryAt?: number;
  /** JSON text; undefined: the step returned nothing. */
  readonly result?: string;
  /** The last few failed attempts, oldest first. */
  readonly errors: readonly AttemptError[];
  /** An attempt, or a compensation, is being made right now by the holder of the lease. */
  readonly active: boolean;
  /** 1; one more after each rollback to a savepoint before it. Items have their step's. */
  readonly round: number;
  /** How often the saga was rolled back to this savepoint in this round. */
  readonly returns: number;
  /** The items of a fan-out, once they are known: each item's JSON text. Items have their state under `itemKey`. */
  readonly items?: readonly string[];
  /** The step that completed first, for a join any. */
  readonly wonBy?: string;
  /** The earliest time at which the rate limit allows the next attempt; milliseconds since the epoch. */
  readonly permit?: number;
  /** The key of that limit; it counts together with `permit` only. Undefined: it has none. */
  readonly limitKey?: string;
  /**
   * The wait for a slot of the step's `limit`; it counts while the step is `waiting` only. Undefined: it does not
   * wait.
   */
  readonly slot?: SlotWait;
  /** Nothing needs it any more, since a join any was won by others: it does not begin, and is undone if it completed. */
  readonly pruned: boolean;
  /** The step failed permanently, and the saga continues without it: its dependents go on, and what it did is undone. */
  readonly continued?: true;
  /** The saga that a sub-saga step has started. */
  readonly child?: ChildState;
  /**
   * The wait for a signal or an operator, from its start until the step is done. While it is compensated: for the
   * confirmation of that.
   */
  readonly wait?: WaitState;
  /** The last few attempts that were lost, oldest first; undefined: none. */
  readonly lost?: readonly LostAttempt[];

  constructor(step: StepState) {
    this.status = step.status;
    this.attempts = step.attempts;
    this.failures = step.failures;
    this.unknown = step.unknown;
    this.compensationAttempts = step.compensationAttempts;
    this.compensationFailures = step.compensationFailures;
    this.retryAt = step.retryAt;
    this.result = step.result;
    this.errors = step.errors;
    this.active = step.active;
    this.round = step.round;
    this.returns = step.returns;
    this.items = step.items;
    this.wonBy = step.wonBy;
    this.permit = step.permit;
    this.limitKey = step.limitKey;
    this.slot = step.slot;
    this.pruned = step.pruned;
    this.continued = step.continued;
    this.child = step.child;
    this.wait = step.wait;
    this.lost = step.lost;
  }
}

/** How a field of a step is stored: in a column of its row, in the row's JSON `progress`, or not at all. */
export interface StepField<Value = unknown> {
  /** The kind of the column. Undefined: the field is in `progress`. */
  readonly column?: 'text' | 'count' | 'flag' | 'time' | 'json' | 'errors';
  /** Returns what is stored. Undefined: the value that the field has in `PENDING`. */
  readonly stored: (step: StepState) => Value;
  /** The saga's row has room for a change of it: see step-notes.ts. */
  readonly isNoted?: true;
  /** The field may contain the user's data: a codec encodes it. */
  readonly isPrivate?: true;
}

/**
 * The stored fields of a step, in the order of their columns. The table, the statements, the readers, notes and codecs follow
 * from it.
 */
export const STEP_FIELDS = {
  status: { column: 'text', stored: ({ status }) => status, isNoted: true },
  attempts: { column: 'count', stored: ({ attempts }) => attempts || undefined, isNoted: true },
  failures: { column: 'count', stored: ({ failures }) => failures || undefined, isNoted: true },
  unknown: { column: 'flag', stored: ({ unknown }) => unknown || undefined, isNoted: true },
  compensationAttempts: {
    column: 'count',
    stored: ({ compensationAttempts }) => compensationAttempts || undefined,
    isNoted: true,
  },
  compensationFailures: {
    column: 'count',
    stored: ({ compensationFailures }) => compensationFailures || undefined,
    isNoted: true,
  },
  retryAt: { column: 'time', stored: ({ retryAt }) => retryAt, isNoted: true },
  result: { column: 'json', stored: ({ result }) => result, isPrivate: true },
  errors: { column: 'errors', stored: ({ errors }) => errors, isPrivate: true },
  round: { stored: ({ round }) => (round === 1 ? undefined : round) },
  returns: { stored: ({ returns }) => returns || undefined },
  items: { stored: ({ items }) => items, isPrivate: true },
  wonBy: { stored: ({ wonBy }) => wonBy },
  permit: { stored: ({ permit }) => permit },
  limitKey: { stored: ({ permit, limitKey }) => (permit === undefined ? undefined : limitKey) },
  slot: { stored: ({ slot }) => slot },
  pruned: { stored: ({ pruned }) => pruned || undefined },
  continued: { stored: ({ continued }) => continued },
  child: { stored: ({ child }) => child },
  wait: { stored: ({ wait }) => wait, isPrivate: true },
  lost: { stored: ({ lost }) => lost },
} as const satisfies {
  readonly [Name in Exclude<keyof StepState, 'active'>]: StepField<StepState[Name] | undefined>;
};

/** The names of the fields that have such a property in `STEP_FIELDS`. */
export type StepFieldWith<Property> = {
  [Name in keyof typeof STEP_FIELDS]: (typeof STEP_FIELDS)[Name] extends Property ? Name : never;
}[keyof typeof STEP_FIELDS];

/** A rollback that was called for while the outcome of a pivot was not known. */
export interface PendingRollbackState {
  readonly failure: SagaFailure;
  /** The savepoint to return to; undefined: everything is compensated. */
  readonly rollbackTo?: string;
}

/** A rollback that was called for and did not happen, since this pivot completed. */
export interface OvertakenRollbackState {
  readonly kind: SagaFailure['kind'];
  readonly reason?: string;
  /** The pivot. */
  readonly step: string;
}

/** The time at which the rate limit of its name lets a saga begin; milliseconds since the epoch. */
export interface SagaTurn {
  readonly at: number;
  /** The key of the limit, if it has one. */
  readonly key?: string;
}

/** All that has happened to a saga. */
export class SagaState {
  readonly status: SagaStatus;
  /** While stuck, suspended or paused: what it goes back to on retry, or when it is resumed. */
  readonly heldPhase?: 'running' | 'compensating';
  readonly failure?: SagaFailure;
  /** Steps that something has happened to, by name (items: `itemKey`); the others are pending. */
  readonly steps: ReadonlyMap<string, StepState>;
  /** 1; one more after each rollback to a savepoint. */
  readonly round: number;
  /** While compensating: the savepoint to go forward again from; undefined: all is undone. */
  readonly rollbackTo?: string;
  /** A rollback that waits for a pivot's outcome: it begins if the pivot fails, and is dropped if it completes. */
  readonly pendingRollback?: PendingRollbackState;
  /** The last cancellation or deadline that a completed pivot has overtaken. */
  readonly overtaken?: OvertakenRollbackState;
  /** Milliseconds since the epoch: no going forward past it. */
  readonly deadline?: number;
  /** An operator has sent it on: no deadline counts. */
  readonly sentOn?: true;
  /** By name: the number of the last signal that a step has taken; those before it were taken, too. */
  readonly lastTakenSignals?: Readonly<Record<string, number>>;
  /**
   * Nothing of the saga begins before this time; milliseconds since the epoch. The store forgets it when a worker takes
   * the saga at or after it, so a clock that is set back does not hold a saga that has begun.
   */
  readonly startsAt?: number;
  /** If the saga has a rate limit: when it may begin, or that it has. Undefined: it has begun if it has steps. */
  readonly turn?: SagaTurn | 'begun';

  constructor(state: SagaState) {
    this.status = state.status;
    this.heldPhase = state.heldPhase;
    this.failure = state.failure;
    this.steps = state.steps;
    this.round = state.round;
    this.rollbackTo = state.rollbackTo;
    this.pendingRollback = state.pendingRollback;
    this.overtaken = state.overtaken;
    this.deadline = state.deadline;
    this.sentOn = state.sentOn;
    this.lastTakenSignals = state.lastTakenSignals;
    this.startsAt = state.startsAt;
    this.turn = state.turn;
  }
}

/** The fields of a saga's state that have columns of their own in its row: see store/postgres/schema/saga-row.ts. */
type StateColumnField = 'status' | 'heldPhase' | 'failure' | 'deadline' | 'startsAt';
/** The names of the fields in the JSON column `progress` of a saga's row. */
export type StateProgressField = Exclude<keyof SagaState, StateColumnField | 'steps'>;

/** How a field of `progress` is stored. */
interface StateField {
  /** Returns what is stored. Undefined: the value that the field has in `INITIAL`. */
  readonly stored: (state: SagaState) => unknown;
  /** The field may contain the user's data: a codec encodes it. */
  readonly isPrivate?: true;
}

/** The fields in the JSON column `progress` of a saga's row. Few sagas have any. The statements, the reader and codecs follow. */
export const STATE_PROGRESS = {
  round: { stored: ({ round }) => (round === 1 ? undefined : round) },
  rollbackTo: { stored: ({ rollbackTo }) => rollbackTo },
  lastTakenSignals: { stored: ({ lastTakenSignals }) => lastTakenSignals },
  pendingRollback: { stored: ({ pendingRollback }) => pendingRollback, isPrivate: true },
  overtaken: { stored: ({ overtaken }) => overtaken, isPrivate: true },
  sentOn: { stored: ({ sentOn }) => sentOn },
  // A saga that has begun has steps, which say so.
  turn: { stored: ({ turn }) => (typeof turn === 'object' ? turn : undefined) },
} as const satisfies { readonly [Name in StateProgressField]: StateField };

export const PENDING: StepState = Object.freeze({
  status: 'pending',
  attempts: 0,
  failures: 0,
  unknown: false,
  compensationAttempts: 0,
  compensationFailures: 0,
  errors: [],
  active: false,
  round: 1,
  returns: 0,
  pruned: false,
});

export const INITIAL: SagaState = Object.freeze({
  status: 'running',
  steps: new Map<string, StepState>(),
  round: 1,
});

export function stepState(state: SagaState, step: string): StepState {
  return state.steps.get(step) ?? PENDING;
}

export function isTerminal(status: SagaStatus): boolean {
  return STATUS_GROUPS[status] === 'ended';
}

/** Terminal, or idle until an operator acts: what `wait()` and `outcome()` resolve at. */
export function isSettled(status: SagaStatus): boolean {
  return isTerminal(status) || needsOperator(status);
}

/** Whether a saga goes forward or compensates by itself, or waits to. Not terminal, and no operator has to act before. */
export function isInProgress(status: SagaStatus): status is StatusOf<'moving'> {
  return STATUS_GROUPS[status] === 'moving';
}

/** Whether a saga is idle until an operator retries, resolves or aborts it. Paused sagas do not count: they wait to be resumed. */
export function needsOperator(status: SagaStatus): status is StatusOf<'halted'> {
  return STATUS_GROUPS[status] === 'halted';
}

/** Another saga must end before anything more happens to this step. */
export function awaitsChild({ status, child }: StepState): boolean {
  if (child === undefined) return false;
  const { phase } = child;
  return status === 'waiting'
    ? phase === 'running' || phase === 'cancelling'
    : status === 'compensating' && phase === 'undoing';
}

/** Whether the signal of a step has not come yet. */
export function awaitsSignal({ status, wait, active }: StepState): boolean {
  return status === 'waiting' && !active && wait !== undefined && wait.takenSignal === undefined;
}

/** As many attempts of it are in progress in all sagas as may be: it waits for one of them to end. */
export function awaitsSlot({ status, slot, active }: StepState): boolean {
  return status === 'waiting' && !active && slot !== undefined;
}

/** Whether the compensation of a step was requested, and is not confirmed yet. */
export function awaitsReply({ status, wait, active }: StepState): boolean {
  return status === 'compensating' && !active && wait !== undefined;
}

/** Whether a step completed, and its result is needed. */
export function isKept(state: SagaState, name: string): boolean {
  const { status, pruned } = stepState(state, name);
  return status === 'completed' && !pruned;
}

/** A copy of a step's state, in which this is different. */
export function changeStep<K extends keyof StepState>(
  step: StepState,
  changes: Pick<StepState, K>,
): StepState {
  return Object.assign(new StepState(step), changes);
}

/** A copy of a saga's state, in which this is different. */
export function changeState<K extends keyof SagaState>(
  state: SagaState,
  changes: Pick<SagaState, K>,
): SagaState {
  return Object.assign(new SagaState(state), changes);
}
