/** An error as it is stored. */
export interface SerializedError {
  /** The error's class, at most 200 characters. */
  name: string;
  /** The message, at most 4,000 characters. */
  message: string;
  /** The error's code, if it has one, at most 200 characters. */
  code?: string;
  /** The stack, at most 8,000 characters. */
  stack?: string;
  /** The cause, at most four levels deep. */
  cause?: SerializedError;
}

/** One failed attempt of a step or of its compensation. */
export interface AttemptError extends SerializedError {
  /** The number of the attempt, from 1. */
  attempt: number;
  /** The time of the failure, ISO 8601, by this process's estimate of the database's clock. */
  at: string;
  /** Whether the step or its compensation failed. */
  during: 'step' | 'compensation';
}

/** The failure that made a saga compensate or stop. */
export interface SagaFailure {
  /** The kind of failure. `undone`: an operator undid the completed saga. */
  kind: 'error' | 'rejected' | 'timeout' | 'cancelled' | 'undone';
  /** The step that failed. Absent if no step failed. */
  step?: string;
  /** The error of the step. */
  error?: SerializedError;
  /** The operator's reason, or the cause if there is no error. */
  reason?: string;
}
