import type { ProbeAnswer } from '../../definition/options/step-options.js';
import { StepRejectedError } from '../../errors.js';
import { ExpressionError } from '../expression/evaluator.js';
import { NoValueError } from '../expression/template.js';
import type { CallContext, CallValues } from './call-values.js';

/** A request or a command, as a step, a compensation or a probe makes it. */
export interface PreparedCall {
  /**
   * Returns the result.
   * @throws StepRejectedError, UnknownOutcomeError, StepCallError
   */
  run(context: CallContext): Promise<unknown>;
  /** Reads the outcome of an earlier call. */
  probe(context: CallContext): Promise<ProbeAnswer>;
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
