import type { SagaStatus } from './saga-status.js';
import type { SagaFailure, SerializedError } from './saga-failure.js';

/** What every event says of its saga. */
interface ObservedSaga {
  /** The saga's name. Of one in which a step handler runs: `handler:<name>`. */
  readonly saga: string;
  readonly version: number;
  readonly id: string;
  /** The saga's id, unless it was started with one. */
  readonly correlationId: string;
  readonly tags: Readonly<Record<string, string>>;
  /** When it was stored, by the database's clock as well as this process knows it. */
  readonly at: Date;
  /** The saga's, after this. */
  readonly status: SagaStatus;
}

interface ObservedStep {
  readonly step: string;
  /** Of a fan-out: which item. Undefined: the step itself. */
  readonly index?: number;
  /** 1, 2, …: of the step, or of its compensation. 0: no method was called. */
  readonly attempt: number;
}

interface ObservedFailure extends ObservedStep {
  readonly error: SerializedError;
  /** When it is tried again. Undefined: it is given up. */
  readonly retryAt?: Date;
}

interface NeedsPerson {
  /** The steps that gave up, for an operator to retry or skip. */
  readonly steps: readonly string[];
  /** What made the saga turn back, or stop. */
  readonly failure?: SagaFailure;
  /** The last of the errors of these steps. */
  readonly error?: SerializedError;
}

/** What each event says beside that. */
interface ObservedDetails {
  /** A worker begins with it. */
  started: object;
  'step-completed': ObservedStep;
  /** Its `when` said no. */
  'step-skipped': ObservedStep;
  /** One attempt of it has failed. */
  'step-failed': ObservedFailure;
  /** It waits for a signal, or for a person (`signal` is undefined). */
  'step-waiting': ObservedStep & { readonly signal?: string; readonly until?: Date };
  'step-compensated': ObservedStep;
  /** One attempt of its compensation has failed. */
  'compensation-failed': ObservedFailure;
  /** It turns back; `savepoint`: as far as this step, to go forward again. */
  compensating: { readonly failure: SagaFailure; readonly savepoint?: string };
  /** What came after its savepoint is undone: it goes forward again. */
  'rolled-back': { readonly round: number };
  completed: object;
  compensated: { readonly failure?: SagaFailure };
  aborted: { readonly failure?: SagaFailure };
  stuck: NeedsPerson;
  suspended: NeedsPerson;
  paused: object;
  /** It goes on after a pause, or after a step was done by hand. */
  resumed: object;
  /** What gave up is tried again, as an operator asked. */
  retried: object;
  /** It was not finished within its `sla`. */
  overdue: object;
}

/** What `@OnSagaEvent` can be told of. */
export type ObservedEventType = keyof ObservedDetails;

/** Something that has happened to a saga, and is stored. */
export type ObservedEvent<Type extends ObservedEventType = ObservedEventType> = {
  [T in Type]: { readonly type: T } & ObservedSaga & ObservedDetails[T];
}[Type];

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
