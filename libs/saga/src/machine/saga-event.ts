import type { SagaFailure, SerializedError } from '../definition/types/saga-failure.js';
import type { LostLease } from './saga-state.js';
import type { StatusOf } from '../definition/types/saga-status.js';

/** What can happen to a saga; `step` is a step's name, or an item's key. Times and random numbers come with the event, so that evolving it is a pure function. */
export type SagaEvent =
  | { readonly type: 'step-started'; readonly step: string }
  /** The start of the step was recorded, and its method was not called after all. */
  | { readonly type: 'start-withdrawn'; readonly step: string }
  | {
      readonly type: 'step-completed';
      readonly step: string;
      readonly result?: string;
      readonly now?: number;
    }
  | ({
      readonly type: 'step-failed';
      readonly kind: 'error' | 'rejected' | 'timeout';
      /** True: it may have taken effect all the same. */
      readonly unknown: boolean;
      /** The probe says that neither this attempt nor an earlier one has taken effect. */
      readonly notDone?: true;
    } & AttemptFailed)
  /** `when` said no. */
  | { readonly type: 'condition-false'; readonly step: string }
  /** What `forEach` gave: the items' JSON texts. */
  | { readonly type: 'fan-out-started'; readonly step: string; readonly items: readonly string[] }
  /** The step is ready, and begins after its delay. */
  | { readonly type: 'delay-started'; readonly step: string; readonly until: number }
  /** The step is ready, and waits for its signal from now on. */
  | {
      readonly type: 'wait-started';
      readonly step: string;
      readonly now: number;
      /** The end of the wait, if a function has returned it. */
      readonly until?: number;
    }
  /** The signal with this number has come, for the first step that waits for its name. */
  | {
      readonly type: 'signalled';
      readonly name: string;
      readonly number: number;
      /** When it came, in milliseconds since the epoch. Undefined: in time. */
      readonly at?: number;
      /** JSON text. */
      readonly payload?: string;
    }
  /** An operator refused by a decision on the step. */
  | {
      readonly type: 'refused';
      readonly name: string;
      readonly number: number;
      readonly at?: number;
      readonly error: SerializedError;
      readonly now: number;
    }
  /** The signal with this number has come, which confirms a compensation. */
  | { readonly type: 'reply-received'; readonly name: string; readonly number: number; readonly at?: number }
  /** No signal has come in time. */
  | { readonly type: 'wait-expired'; readonly step: string; readonly now: number }
  /** The step's rate limit lets the next attempt begin at this time, or soon after. */
  | {
      readonly type: 'rate-limit-granted';
      readonly step: string;
      readonly at: number;
      /** The key of the limit, if it has one. */
      readonly key?: string;
    }
  /** No slot of its limit over all sagas, or of this key of it, is free: the step waits for one. */
  | { readonly type: 'slot-awaited'; readonly step: string; readonly key?: string; readonly now: number }
  /** The step has its slot. */
  | { readonly type: 'slot-granted'; readonly step: string }
  /** The rate limit of its name lets the saga begin at this time, or soon after. */
  | { readonly type: 'turn-granted'; readonly at: number; readonly key?: string }
  /** That time has come. */
  | { readonly type: 'begun' }
  /** The probe of an interrupted at-most-once step is being asked; its answer ends as the step's attempt would. */
  | { readonly type: 'probe-started'; readonly step: string }
  /** What came after the savepoint is undone: forward again. */
  | { readonly type: 'resumed' }
  /** The saga's deadline has passed. */
  | { readonly type: 'expired'; readonly now: number }
  | { readonly type: 'compensation-started'; readonly step: string }
  | { readonly type: 'compensation-completed'; readonly step: string }
  /** The compensation's method has returned, and the compensation is done once the participant confirms it. */
  | { readonly type: 'compensation-requested'; readonly step: string; readonly now: number }
  /** The attempt failed, or was not confirmed in time. */
  | ({ readonly type: 'compensation-failed' } & AttemptFailed)
  /** A sub-saga step's method gave the input, and the saga with this id is stored together with this event. */
  | { readonly type: 'child-started'; readonly step: string; readonly child: string }
  /** The step's saga was asked to compensate. */
  | { readonly type: 'child-cancelling'; readonly step: string; readonly child: string }
  /** The step's saga, which had completed, was asked to undo itself. */
  | { readonly type: 'child-undoing'; readonly step: string; readonly child: string }
  /**
   * The step's saga has ended. `result`: the results of its steps, as JSON text. `child`: the saga that ended; the step
   * may have started another since.
   */
  | {
      readonly type: 'child-ended';
      /** In what way a handler failed; default: an error, that its saga did not complete. */
      readonly kind?: SagaFailure['kind'];
      readonly step: string;
      readonly child: string;
      readonly status: StatusOf<'ended'>;
      readonly result?: string;
      readonly error?: SerializedError;
      readonly now: number;
    }
  /** The worker lets go of attempts that are in progress (shutdown): what they did is unknown. */
  | { readonly type: 'interrupted'; readonly now: number }
  /** Another worker held this saga and was lost, `count` times since anything was recorded. */
  | {
      readonly type: 'taken-over';
      /** Workers that were lost since anything was recorded. */
      readonly count: number;
      /** Workers that were lost since a step or a wait ended. Default: `count`. */
      readonly losses?: number;
      readonly bound: number;
      /** The last of those `count`, oldest first, as far as they are known. */
      readonly leases?: readonly LostLease[];
      readonly now: number;
    }
  /** `accepted`: before a pivot's completion, which this state knows of, was recorded; the pivot overtakes it. */
  | {
      readonly type: 'cancelled';
      readonly reason?: string;
      readonly accepted?: boolean;
      readonly now?: number;
    }
  /**
   * The saga does not get its semantic lock: to wait for it would be to wait for ever. Nothing of it has begun, or it is
   * undone.
   */
  | { readonly type: 'deadlocked'; readonly error: SerializedError }
  /** An operator wants it to stand still; nothing of it is in progress. */
  | { readonly type: 'paused' }
  /** The saga goes on where it was paused. */
  | { readonly type: 'unpaused' }
  | { readonly type: 'aborted'; readonly reason?: string }
  /** A completed saga is undone after all. */
  | { readonly type: 'undone'; readonly reason?: string }
  /** The code that runs it lacks what it may need. */
  | {
      readonly type: 'code-missing';
      readonly missing: readonly MissingCode[];
      /** For the person who is to bring what is missing. */
      readonly fix: string;
      readonly now: number;
    }
  /**
   * An operator tries again what failed permanently, or at once what waits for another attempt; `step`: only this one.
   */
  | { readonly type: 'retried'; readonly step?: string }
  /** An operator moves the end of a delay, of a wait, or of the time before the next attempt. */
  | { readonly type: 'rescheduled'; readonly step: string; readonly at: number }
  /** An operator did it manually: the step if the saga goes forward, its compensation if it compensates. */
  | { readonly type: 'operator-resolved'; readonly step: string; readonly result?: string }
  /** Nothing is left to do; what `decide` found. */
  | {
      readonly type: 'settled';
      readonly status: Exclude<StatusOf<'ended' | 'halted'>, 'aborted'>;
    };

/** The event of this type. */
export type EventOf<Type extends SagaEvent['type']> = Extract<SagaEvent, { type: Type }>;

interface AttemptFailed {
  readonly step: string;
  readonly error: SerializedError;
  /** False: trying again will not help, whatever the policy says. */
  readonly retryable: boolean;
  /** Milliseconds since the epoch, by the database's clock. */
  readonly now: number;
  /** 0 to 1, for the jitter. */
  readonly random: number;
  /** Milliseconds until the next attempt, by a function of the policy; undefined: by the policy's values. */
  readonly backoff?: number;
  /** Milliseconds before which the participant does not want another attempt. Default: 0. */
  readonly retryAfter?: number;
}

/** Something that a saga may still need, and that the deployed class does not have. */
export interface MissingCode {
  readonly step: string;
  /** A sentence without its end: what is missing, and what the saga may need it for. */
  readonly problem: string;
}
