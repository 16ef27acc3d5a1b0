import type { ProbeAnswer } from '../../definition/options/step-options.js';
import { SagaError, StepRejectedError, UnknownOutcomeError } from '../../errors.js';
import { ExpressionError } from '../expression/evaluator.js';
import type { Expression } from '../expression/expression.js';
import { NoValueError } from '../expression/template.js';
import type { CallContext, CallValues } from './call-values.js';

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

/** The evaluation of a call's expressions; it always fails in the same way, so that a retry does not help. */
export async function evaluated<T>(
  values: CallValues,
  where: string,
  context: CallContext,
  work: () => T | Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ExpressionError || error instanceof NoValueError)) throw error;
    const hint =
      error instanceof NoValueError && context.failure && context.result === undefined
        ? '. The outcome of the step is unknown, so it has no result: use idempotencyKey, or a default ($exists(result) ? …)'
        : '';
    throw new StepRejectedError(values.redacted(`${where}: ${error.message}${hint}`));
  }
}

/**
 * The result of a call that had its effect.
 * @param result the expression of the file; undefined: the result is `byDefault`
 * @param answer what the expression can name
 * @throws UnknownOutcomeError if the expression fails
 */
export async function resultOf(
  values: CallValues,
  where: string,
  context: CallContext,
  { result, answer, byDefault }: { result: Expression | undefined; answer: object; byDefault: unknown },
): Promise<unknown> {
  if (!result) return byDefault;
  try {
    return await evaluated(values, where, context, async () => (await values.of([result], answer))(result));
  } catch (error) {
    throw new UnknownOutcomeError((error as Error).message);
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
