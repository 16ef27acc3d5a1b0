/** An error as it is kept: everything that helps to understand it later, and nothing that cannot be stored. */
export interface SerializedError {
  name: string;
  message: string;
  code?: string;
  stack?: string;
  cause?: SerializedError;
}

/** One failed attempt of a step or of its compensation. */
export interface AttemptError extends SerializedError {
  attempt: number;
  /** ISO time, by the database's clock as well as this process knows it. */
  at: string;
  during: 'step' | 'compensation';
}

/** What made a saga turn back, or stop. */
export interface SagaFailure {
  kind: 'error' | 'rejected' | 'timeout' | 'cancelled' | 'undone';
  step?: string;
  error?: SerializedError;
  reason?: string;
}
