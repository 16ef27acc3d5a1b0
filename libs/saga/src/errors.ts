/**
 * Every error of this package. `code` is stable and meant for programs; the message says what is wrong,
 * where, and the mend, and is meant for people.
 */
export abstract class SagaError extends Error {
  /** Stable, and meant for programs: `SAGA_` and what it is. */
  abstract readonly code: string;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** A saga is declared wrongly; thrown when the application starts. */
export class SagaDefinitionError extends SagaError {
  readonly code = 'SAGA_DEFINITION';
}

/**
 * A saga's graph has changed without its version, while instances of it are running; thrown when the application
 * starts, unless `onDrift` is `'warn'`. The message names the differences, and how many instances they matter to.
 */
export class SagaDriftError extends SagaError {
  readonly code = 'SAGA_DRIFT';
}

/** The module's options, or what it finds in the application, cannot work; thrown when the application starts. */
export class SagaConfigurationError extends SagaError {
  readonly code = 'SAGA_CONFIGURATION';
}

/** No saga has this id, or this correlation id under this name. */
export class SagaNotFoundError extends SagaError {
  readonly code = 'SAGA_NOT_FOUND';
}

/** A saga with this id or correlation id exists, started with another input. */
export class SagaConflictError extends SagaError {
  readonly code = 'SAGA_CONFLICT';

  constructor(
    message: string,
    /** The id of the saga that is there. */
    readonly sagaId: string,
  ) {
    super(message);
  }
}

/** The call does not fit the state that the saga is in; the message names both. */
export class SagaStateError extends SagaError {
  readonly code = 'SAGA_STATE';
}

/**
 * The call is kept, and not carried out yet: by the module's `approvals` others have to make the same, and the saga has
 * to stay as it is until they have.
 */
export class SagaApprovalPendingError extends SagaError {
  readonly code = 'SAGA_APPROVAL_PENDING';

  constructor(
    message: string,
    /** Who have made the call. */
    readonly approvals: number,
    /** Who have to. */
    readonly needed: number,
  ) {
    super(message);
  }
}

/** A value cannot be stored as JSON exactly as given, or is too large. */
export class SagaPayloadError extends SagaError {
  readonly code = 'SAGA_PAYLOAD';

  constructor(
    message: string,
    /** Where in the value, such as `input.lines[2].price`. */
    readonly path: string,
  ) {
    super(message);
  }
}

/**
 * The module's codec cannot decode something that a saga was given or gave, or cannot encode it: the message names the
 * saga and, where the codec tells it, the key. Nothing is lost: a process that has the key goes on with the saga.
 */
export class SagaCodecError extends SagaError {
  readonly code = 'SAGA_CODEC';

  constructor(
    message: string,
    /** Undefined: of a message, or of a signal that no step has taken. */
    readonly sagaId?: string,
    /** The `keyId` of what the codec threw. */
    readonly keyId?: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** The input, or an argument of a call, is not valid. */
export class SagaValidationError extends SagaError {
  readonly code = 'SAGA_VALIDATION';
}

/**
 * What a sub-saga fails with that would wait for its `lockKey` for ever: the holder of the lock waits, by sub-sagas of its
 * own, for a lock that an ancestor of this one holds. It has not begun, and is compensated at once; the step that started it
 * fails. In `failure.error` of the saga, and below it in those of its ancestors.
 */
export class SagaLockDeadlockError extends SagaError {
  readonly code = 'SAGA_LOCK_DEADLOCK';
}

/** The wait was over before the saga was; the saga goes on. */
export class SagaTimeoutError extends SagaError {
  readonly code = 'SAGA_TIMEOUT';
}

/** The process is shutting down, or the database could not be reached for longer than the call may wait. */
export class SagaUnavailableError extends SagaError {
  readonly code = 'SAGA_UNAVAILABLE';
}

/**
 * A transaction cannot commit what the call stored in it: a statement in it failed and its error was caught, so that
 * PostgreSQL answers COMMIT with ROLLBACK, or the transaction was ended before. Nothing of it is stored. `cause` is the
 * error of the failed statement, when it is known.
 */
export class SagaTransactionError extends SagaError {
  readonly code = 'SAGA_TRANSACTION';
}

/**
 * Thrown by a step to say: refused, and trying again will not help. The saga turns back at once, and the
 * step itself is not undone, since it did not happen.
 */
export class StepRejectedError extends SagaError {
  readonly code: string = 'SAGA_STEP_REJECTED';
}

/**
 * Thrown by a step that cannot tell whether it took effect (a request whose answer was lost). Retried like
 * any error; if the saga turns back, the step is undone with `result: undefined`.
 */
export class UnknownOutcomeError extends SagaError {
  readonly code: string = 'SAGA_UNKNOWN_OUTCOME';
}

/** The reason of an aborted `ctx.signal`, and of an attempt that ran longer than the step's `timeout`. */
export class StepAbortedError extends SagaError {
  readonly code = 'SAGA_STEP_ABORTED';

  constructor(
    message: string,
    /** What aborted the attempt. */
    readonly trigger: 'timeout' | 'cancelled' | 'lease-lost' | 'shutdown',
  ) {
    super(message);
  }
}

/**
 * Thrown by a `MessageTransport` to say: the broker refused this message, and not because it is in trouble (nobody takes
 * such messages, it is too large, it was rejected). It counts against the message's attempts.
 */
export class MessageRefusedError extends SagaError {
  readonly code = 'SAGA_MESSAGE_REFUSED';
}
