import { type ProbeAnswer, SagaError } from 'nestjs-durable-saga';
import type { CallContext } from './expression-values.js';

/** What a step or a compensation of a file does. */
export interface PreparedCall {
  /**
   * Returns the result.
   * @throws StepRejectedError, UnknownOutcomeError, StepCallError
   */
  run(context: CallContext): Promise<unknown>;
}

/** A request or a command, which a probe can be as well. */
export interface ProbeCall extends PreparedCall {
  /** Reads the outcome of an earlier call. */
  probe(context: CallContext): Promise<ProbeAnswer>;
}

/** A request or a command of a declared saga failed, without an effect that is known. The step is retried by its policy. */
export class StepCallError extends SagaError {
  readonly code = 'SAGA_STEP_CALL';

  constructor(
    message: string,
    /** The participant asked not to be called again before, in milliseconds from now. */
    readonly retryAfterMs?: number,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** The headers of a request, and the variables of a command, that identify the attempt. */
export function identityOf({ sagaId, step, idempotencyKey, attempt, fencingToken }: CallContext) {
  return {
    'Saga-Id': sagaId,
    'Saga-Step': step,
    'Idempotency-Key': idempotencyKey,
    'Saga-Attempt': String(attempt),
    'Saga-Fencing-Token': String(fencingToken),
  } as const;
}

/** The variable of a command for a header: `SAGA_IDEMPOTENCY_KEY`. */
export function variableOf(header: string): string {
  const name = header.toUpperCase().replaceAll('-', '_');
  return name.startsWith('SAGA_') ? name : `SAGA_${name}`;
}
