import { ENDED_STATUSES, type SagaStatus, type StatusOf } from './saga-status.js';
import type { SagaFailure, SerializedError } from './saga-failure.js';

/** The properties of the saga in every event. */
interface ObservedSaga {
  /** The saga's name. A saga in which a step handler runs has the name `handler:<name>`. */
  readonly saga: string;
  readonly version: number;
  readonly id: string;
  /** The correlation id, or the id of the saga if it was started without one. */
  readonly correlationId: string;
  readonly tags: Readonly<Record<string, string>>;
  /** The time at which the event was stored, by this process's estimate of the database's clock. */
  readonly at: Date;
  /** The saga's status after the event. */
  readonly status: SagaStatus;
}

interface ObservedStep {
  readonly step: string;
  /** The index of the item in a step with `forEach`. Undefined for the step itself. */
  readonly index?: number;
  /** The number of the attempt of the step or of its compensation, from 1. 0 if no method was called. */
  readonly attempt: number;
}

interface ObservedFailure extends ObservedStep {
  readonly error: SerializedError;
  /** The time of the next attempt. Undefined if the retries are exhausted. */
  readonly retryAt?: Date;
}

interface NeedsPerson {
  /** The steps that failed, which an operator can retry or resolve. */
  readonly steps: readonly string[];
  /** The failure that made the saga compensate or stop. */
  readonly failure?: SagaFailure;
  /** The last error of these steps. */
  readonly error?: SerializedError;
}

/** The additional properties of each event. */
interface ObservedDetails {
  /** A worker began the saga. */
  started: object;
  'step-completed': ObservedStep;
  /** The step's `when` returned false. */
  'step-skipped': ObservedStep;
  /** An attempt of the step failed. */
  'step-failed': ObservedFailure;
  /** The step waits for a signal, or for approval (`signal` is undefined). */
  'step-waiting': ObservedStep & { readonly signal?: string; readonly until?: Date };
  'step-compensated': ObservedStep;
  /** An attempt of the compensation failed. */
  'compensation-failed': ObservedFailure;
  /** The saga compensates. `savepoint`: up to this step, and then it goes forward again. */
  compensating: { readonly failure: SagaFailure; readonly savepoint?: string };
  /** The steps after the savepoint are compensated, and the saga goes forward again. */
  'rolled-back': { readonly round: number };
  completed: object;
  compensated: { readonly failure?: SagaFailure };
  aborted: { readonly failure?: SagaFailure };
  stuck: NeedsPerson;
  suspended: NeedsPerson;
  paused: object;
  /** The saga continues after a pause, or after a step was skipped. */
  resumed: object;
  /** An operator retried what failed. */
  retried: object;
  /** The saga did not finish within its `sla`. */
  overdue: object;
}

/** The events that `@OnSagaEvent` can observe. */
export type ObservedEventType = keyof ObservedDetails;

/** An event of a saga, which is stored. */
export type ObservedEvent<Type extends ObservedEventType = ObservedEventType> = {
  [T in Type]: { readonly type: T } & ObservedSaga & ObservedDetails[T];
}[Type];

/** Whether the saga has ended with this event, which has the name of the status. */
export function isEnd(event: ObservedEvent): event is ObservedEvent<StatusOf<'ended'>> {
  return (ENDED_STATUSES as readonly string[]).includes(event.type);
}

const TYPES: Record<ObservedEventType, true> = {
  started: true,
  'step-completed': true,
  'step-skipped': true,
  'step-failed': true,
  'step-waiting': true,
  'step-compensated': true,
  'compensation-failed': true,
  compensating: true,
  'rolled-back': true,
  completed: true,
  compensated: true,
  aborted: true,
  stuck: true,
  suspended: true,
  paused: true,
  resumed: true,
  retried: true,
  overdue: true,
};
export const OBSERVED_EVENTS = Object.keys(TYPES) as readonly ObservedEventType[];
