import { StepRejectedError, UnknownOutcomeError } from 'nestjs-durable-saga';
import { AnswerLostError, RefusedError } from '../participant/participant-errors.js';

/**
 * What a participant's errors mean to a saga: a refusal turns it back at once; a lost answer may hide an effect, so
 * the step is undone even if every attempt fails. Anything else did not happen, and is tried again.
 */
export async function answerOf<T>(call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (cause) {
    if (cause instanceof RefusedError) throw new StepRejectedError(cause.message, { cause });
    if (cause instanceof AnswerLostError) throw new UnknownOutcomeError(cause.message, { cause });
    throw cause;
  }
}
