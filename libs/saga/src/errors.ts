/**
 * The base class of all errors of this package. `code` is stable and meant for programs. The message says what is
 * wrong, where, and how to fix it.
 */
export abstract class SagaError extends Error {
  /** A stable code for programs, which begins with `SAGA_`. */
  abstract readonly code: string;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** A saga's definition is invalid. Thrown when the application starts. */
export class SagaDefinitionError extends SagaError {
  readonly code = 'SAGA_DEFINITION';
}

/**
 * A saga's graph has changed without its version, while instances of it are running that may need what the code does not
 * have. Thrown when the application starts, unless `onDrift` is `'warn'` or an operator has accepted the change. The message names the differences and the number of affected instances.
 */
export class SagaDriftError extends SagaError {
  readonly code = 'SAGA_DRIFT';
}

/**
 * The module's options, or the parts of the application that it uses, are invalid. Thrown when the application starts.
 */
export class SagaConfigurationError extends SagaError {
  readonly code = 'SAGA_CONFIGURATION';
}

/** No saga has this id, or this name and correlation id. */
export class SagaNotFoundError extends SagaError {
  readonly code = 'SAGA_NOT_FOUND';
}

/**
 * A saga with this id or correlation id already exists, but was started with another input. With `lockMode: 'reject'`,
 * also: another saga has the semantic lock, or waits for it.
 */
export class SagaConflictError extends SagaError {
  readonly code = 'SAGA_CONFLICT';

  constructor(
    message: string,
    /** The id of the existing saga, or of the saga that has the lock. */
    readonly sagaId: string,
  ) {
    super(message);
  }
}

/** The saga's state does not allow the call. The message names both. */
export class SagaStateError extends SagaError {
  readonly code = 'SAGA_STATE';
}

/**
 * The call is recorded but not executed yet: by the module's `approvals`, other operators must make the same call
 * before the saga changes.
 */
export class SagaApprovalPendingError extends SagaError {
  readonly code = 'SAGA_APPROVAL_PENDING';

  constructor(
    message: string,
    /** The number of operators who have made the call. */
    readonly approvals: number,
    /** The number of operators who must make the call. */
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
    /** The path in the value, such as `input.lines[2].price`. */
    readonly path: string,
  ) {
    super(message);
  }
}

/**
 * The module's codec cannot decode or encode a value. The message names the saga and, if the codec reports it, the key.
 * No data is lost: a process that has the key continues the saga.
 */
export class SagaCodecError extends SagaError {
  readonly code = 'SAGA_CODEC';

  constructor(
    message: string,
    /** The saga of the value. Undefined for a message, or for a signal that no step has received. */
    readonly sagaId?: string,
    /** The `keyId` of the codec's error. */
    readonly keyId?: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** The input, or an argument of a call, is invalid. */
export class SagaValidationError extends SagaError {
  readonly code = 'SAGA_VALIDATION';
}

/**
 * The failure of a sub-saga that would wait for its `lockKey` for ever: the holder of the lock waits, through its own
 * sub-sagas, for a lock that an ancestor of this saga holds. The sub-saga has run no step and is compensated at once,
 * and the step that started it fails. The error is in `failure.error` of the saga, and as a cause in those of its
 * ancestors.
 */
export class SagaLockDeadlockError extends SagaError {
  readonly code = 'SAGA_LOCK_DEADLOCK';
}

/** The wait ended before the saga did. The saga continues. */
export class SagaTimeoutError extends SagaError {
  readonly code = 'SAGA_TIMEOUT';
}

/** The process is shutting down, or the database could not be reached in time. */
export class SagaUnavailableError extends SagaError {
  readonly code = 'SAGA_UNAVAILABLE';
}

/**
 * The database of a shard cannot be reached. Other shards are not affected. If the call changes something and was in
 * progress when the shard was lost, it is not known whether the change is stored.
 */
export class SagaShardUnavailableError extends SagaError {
  readonly code = 'SAGA_SHARD_UNAVAILABLE';

  constructor(
    message: string,
    /** The name of the shard. */
    readonly shard: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/**
 * A transaction cannot commit the writes of the call: one of its statements failed and the error was caught, so that
 * PostgreSQL turns COMMIT into ROLLBACK, or the transaction had already ended. Nothing of it is stored. `cause` is the
 * error of the failed statement, if it is known.
 */
export class SagaTransactionError extends SagaError {
  readonly code = 'SAGA_TRANSACTION';
}

/**
 * Thrown by a step to reject its work permanently. The step is not retried and the saga compensates at once. The step
 * itself is not compensated, because it had no effect.
 */
export class StepRejectedError extends SagaError {
  readonly code: string = 'SAGA_STEP_REJECTED';
}

/**
 * Thrown by a step that cannot determine whether it took effect, for example after a lost response. The step is retried
 * as after any error. If the saga compensates, the step is compensated with `result: undefined`.
 */
export class UnknownOutcomeError extends SagaError {
  readonly code: string = 'SAGA_UNKNOWN_OUTCOME';
}

/** The reason of an aborted `ctx.signal`, and the error of an attempt that exceeded the step's `timeout` or `heartbeat`. */
export class StepAbortedError extends SagaError {
  readonly code = 'SAGA_STEP_ABORTED';

  constructor(
    message: string,
    /** The cause of the abort. */
    readonly trigger: 'timeout' | 'heartbeat' | 'cancelled' | 'lease-lost' | 'shutdown',
  ) {
    super(message);
  }
}

/**
 * Thrown by a `MessageTransport` if the broker rejects this message, and not because the broker is unavailable: it has
 * no receiver, is too large, or was rejected. The attempt counts against the message's attempts.
 */
export class MessageRefusedError extends SagaError {
  readonly code = 'SAGA_MESSAGE_REFUSED';
}
