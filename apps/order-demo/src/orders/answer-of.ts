import { StepRejectedError, UnknownOutcomeError } from 'nestjs-durable-saga';
import { AnswerLostError, RefusedError } from '../participant/participant-errors.js';

/**
 * Maps a participant's errors to errors of a saga. A refusal rolls the saga back immediately. A lost answer
 * may hide an effect, so the step is compensated even if every attempt fails. Any other error means no
 * effect, and is retried.
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
