import type { AttemptError, SagaFailure } from '../../definition/types/saga-failure.js';
import type { InputOf, ResultsOf } from '../../definition/types/contexts.js';
import type { Serialized } from '../../shared/serialized.js';
import type { SagaStatus, StepStatus } from '../../definition/types/saga-status.js';
import type { WaitingFor } from './waiting-for.js';

/** The outcome of a saga that has ended or needs attention (`stuck`, `suspended`). */
export interface SagaOutcome<S = unknown> {
  /** The saga's id. */
  readonly id: string;
  /** The status in which the saga ended, or in which it needs attention. */
  readonly status: SagaStatus;
  /** The results of the completed steps that were not compensated, in their stored form. */
  readonly results: Partial<ResultsOf<S>>;
  /** The failure that made the saga compensate or stop. Absent if it completed. */
  readonly failure?: SagaFailure;
}

/** The state of a step, or of an item of a step with `forEach`. */
export interface StepSnapshot {
  /** The step's name, which is its method's. */
  readonly name: string;
  /** The status of the step. */
  readonly status: StepStatus;
  /** The attempts that have begun, including attempts that were lost with their worker. */
  readonly attempts: number;
  /** The attempts of the compensation that have begun. */
  readonly compensationAttempts: number;
  /** Whether the outcome of an attempt is unknown: it may have taken effect. */
  readonly unknown: boolean;
  /** 1, or more after a rollback to an earlier savepoint. */
  readonly round: number;
  /** The result in its stored form. Absent if there is none, or not yet. */
  readonly result?: unknown;
  /** The items of a step with `forEach`, in order. `name` is the step's name with the index. */
  readonly items?: readonly StepSnapshot[];
  /** The last few failed attempts, oldest first. */
  readonly errors: readonly AttemptError[];
  /** The last few attempts that were lost with their worker, oldest first. Absent if there are none. */
  readonly lost?: readonly LostAttemptSnapshot[];
  /** The earliest time at which the attempt in progress may have begun. Absent if none is in progress. */
  readonly runningSince?: Date;
  /**
   * What the method reported last by `ctx.progress()`. Kept while the step, or its compensation, is in progress, waits for
   * its next attempt, or has failed. Absent if there is nothing, or it has ended.
   */
  readonly progress?: ProgressSnapshot;
  /** The time of the last heartbeat that is stored. Absent if there is none, or the step has ended. */
  readonly heartbeatAt?: Date;
  /** Whether the step is optional and failed permanently, so that the saga continues without it. Absent if not. */
  readonly continued?: true;
  /** The id of the saga that this step started. */
  readonly child?: string;
  /** The time of the next attempt, or the end of the step's delay. */
  readonly retryAt?: Date;
  /** The time of the step's first record. */
  readonly startedAt?: Date;
  /** The time of the step's last record. */
  readonly updatedAt?: Date;
}

/** What a method reported by `ctx.progress()`. */
export interface ProgressSnapshot {
  /** 0 to 100. */
  readonly percent?: number;
  /** What the step does. */
  readonly message?: string;
  /** The time of the report. */
  readonly at: Date;
}

/** An attempt without an outcome, because its worker died, lost the lease or was shut down. It may have taken effect. */
export interface LostAttemptSnapshot {
  /** The number of the attempt, from 1. */
  readonly attempt: number;
  /** Whether it was an attempt of the step or of its compensation. */
  readonly during: 'step' | 'compensation';
  /** The worker that died or lost the lease. Absent if the worker was shut down. */
  readonly worker?: string;
  /** The earliest time at which the attempt may have begun. */
  readonly startedAt?: Date;
  /** The time at which the lease expired, or the worker released the saga. */
  readonly lostAt: Date;
  /** The time at which another worker took the saga over. */
  readonly takenOverAt?: Date;
}

/**
 * The steps of a saga, each with its name and the result type that the saga's class declares. Of an unknown class, any
 * step.
 */
export type StepSnapshotOf<S> = unknown extends S
  ? StepSnapshot
  : {
      [K in keyof ResultsOf<S> & string]: StepSnapshot & {
        /** The step's name, which is the name of its method. */
        readonly name: K;
        /** The result in its stored form. Absent if there is none, or not yet. */
        readonly result?: ResultsOf<S>[K];
      };
    }[keyof ResultsOf<S> & string];

/** A saga in a list. */
export interface SagaSummary {
  /** The id, a UUID. */
  readonly id: string;
  /** The saga's name. */
  readonly saga: string;
  /** The version of its graph. */
  readonly version: number;
  /** The status of the saga. */
  readonly status: SagaStatus;
  /**
   * The direction in which a `stuck`, `suspended` or `paused` saga stopped, and continues after a retry or resume.
   * `compensating`: the compensation of `step` failed, not the step.
   */
  readonly heldPhase?: 'running' | 'compensating';
  /** The correlation id, or the id of the saga if it was started without one. */
  readonly correlationId: string;
  /** A number that rises with every change. Pass it as `expects` of an operator action. */
  readonly revision: number;
  /** The current step: the steps that are running or next. */
  readonly step: string;
  /** The message of the last error. */
  readonly error?: string;
  /** The tags that the saga was started with, as its steps have changed them. */
  readonly tags: Readonly<Record<string, string>>;
  /** The time at which the saga was stored. */
  readonly createdAt: Date;
  /** The time of the last change. */
  readonly updatedAt: Date;
  /** The time at which the saga ended. Absent if it has not ended. */
  readonly finishedAt?: Date;
}

/** A rollback that waits for the outcome of a pivot. */
export interface PendingRollback {
  /** The failure that requires the rollback. */
  readonly failure: SagaFailure;
  /** The pivot whose outcome decides. Empty if this application does not have the saga. */
  readonly step: string;
}

/** A rollback that was required and did not happen, because a pivot completed first. */
export interface OvertakenRollback {
  /** The cause of the rollback: `cancelled`, or `timeout` for the deadline of the saga. */
  readonly kind: SagaFailure['kind'];
  /** The reason that the call gave. */
  readonly reason?: string;
  /** The pivot that completed. */
  readonly step: string;
}

/**
 * The snapshot that `get()` returns if the target names the saga's class. An instance of another version may have
 * another input and other results.
 */
export type SagaSnapshotOf<S> = SagaSnapshot<Serialized<InputOf<S>>, StepSnapshotOf<S>>;

/** The complete state of a saga at one moment. `SagaSnapshotOf` has the types of a saga's class. */
export interface SagaSnapshot<Input = unknown, Step = StepSnapshot> extends Omit<SagaSummary, 'error'> {
  /** The input in its stored form. */
  readonly input: Input;
  /**
   * The input that the saga was started with, in its stored form, if `retry({ input })` has replaced it. Repeated
   * starts are compared with this input. Absent if the input was not replaced.
   */
  readonly startedInput?: Input;
  /** The priority that the saga was started with, from 0 to 100. */
  readonly priority: number;
  /** The steps in the order of the graph. A step that has no record is `pending`. */
  readonly steps: readonly Step[];
  /** 1, and one more after each rollback to a savepoint. */
  readonly round: number;
  /** The failure that made the saga compensate or stop. Absent if there is none. */
  readonly failure?: SagaFailure;
  /**
   * A rollback that waits for the outcome of a pivot. It begins if the pivot fails, and is dropped if the pivot
   * completes.
   */
  readonly pendingRollback?: PendingRollback;
  /**
   * A cancellation, or the saga's `timeout`, that arrived while a pivot was in progress. The pivot completed, so that
   * the saga did not roll back.
   */
  readonly overtaken?: OvertakenRollback;
  /** The saga that started this one and waits for it, and its step. */
  readonly parent?: { readonly id: string; readonly step: string };
  /** What the saga waits for. Absent if it is running or has ended. */
  readonly waitingFor?: WaitingFor;
  /** The time at which the saga becomes overdue, by the `sla` of its class. */
  readonly slaAt?: Date;
  /** Whether the saga had not finished at `slaAt`. */
  readonly overdue: boolean;
  /** The worker that holds the lease. */
  readonly lockedBy?: string;
}

/** The fields whose values come from the application. Any other field has a type. */
type PayloadsOf<T> = Required<{ [K in keyof T as unknown extends T[K] ? K : never]: unknown }>;

/** Returns a snapshot with other payloads: redacted, or none. A field that holds a payload and is left out does not compile. */
export function mapPayloads(
  snapshot: SagaSnapshot,
  input: (payload: unknown) => unknown,
  result: (payload: unknown, step: string) => unknown,
): SagaSnapshot {
  const ofStep = (step: StepSnapshot): StepSnapshot => {
    const payloads: PayloadsOf<StepSnapshot> = { result: result(step.result, step.name) };
    return { ...step, ...payloads, ...(step.items && { items: step.items.map(ofStep) }) };
  };
  const payloads: PayloadsOf<SagaSnapshot> = {
    input: input(snapshot.input),
    startedInput: input(snapshot.startedInput),
  };
  return { ...snapshot, ...payloads, steps: snapshot.steps.map(ofStep) };
}
