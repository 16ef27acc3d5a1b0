/** An error as it is kept: everything that helps to understand it later, and nothing that cannot be stored. */
export interface SerializedError {
  /** The error's class; at most 200 characters. */
  name: string;
  /** At most 4,000 characters. */
  message: string;
  /** What programs know it by, if it has one; at most 200 characters. */
  code?: string;
  /** At most 8,000 characters. */
  stack?: string;
  /** What it was caused by, four levels deep. */
  cause?: SerializedError;
}

/** One failed attempt of a step or of its compensation. */
export interface AttemptError extends SerializedError {
  /** 1, 2, … */
  attempt: number;
  /** ISO time, by the database's clock as well as this process knows it. */
  at: string;
  /** Whether the step failed, or its compensation. */
  during: 'step' | 'compensation';
}

/** What made a saga turn back, or stop. */
export interface SagaFailure {
  /** `undone`: it had completed, and was undone by an operator. */
  kind: 'error' | 'rejected' | 'timeout' | 'cancelled' | 'undone';
  /** The step that failed; absent: none did. */
  step?: string;
  /** What it failed with. */
  error?: SerializedError;
  /** What the operator said, or why there was no error. */
  reason?: string;
}
