import type { SerializedError } from '../../definition/types/saga-failure.js';
import { ownText } from '../../shared/own-text.js';

/**
 * The first line of a stack that is not the method's: the call of the method by the engine. All below is the same for every
 * error, longer than the rest in most stacks, and would be stored with each failed attempt.
 */
const CALL = /\n\s+at (?:async )?(?:callSagaMethod|AttemptRunner\.)/;

/** An error that a method threw, and its causes, with stacks that end where the engine called the method. */
export function withMethodStacks(error: SerializedError): SerializedError {
  const { stack, cause } = error;
  if (stack !== undefined) error.stack = endedAtCall(stack);
  if (cause !== undefined) withMethodStacks(cause);
  return error;
}

/** A stack that has lines of the engine only stays whole. */
function endedAtCall(stack: string): string {
  const call = stack.search(CALL);
  const first = stack.search(/\n\s+at /);
  return call > first ? ownText(stack.slice(0, call)) : stack;
}
