import { signalNameFlaw } from '../../definition/options/signal-name.js';
import { shown } from '../../shared/shown-value.js';
import type { ApprovalDecision } from '../../definition/options/step-options.js';
import { isKey, LONGEST_KEY } from '../../engine/payload/storable-key.js';
import { SagaValidationError } from '../../errors.js';
import { readOptions } from './call-options.js';
import { KEY_RULE } from './start-options.js';

/** Options of `SagaService.signal()`. */
export interface SignalOptions {
  /**
   * The id of the signal, 1 to 255 characters. A later signal to this saga with the same id is dropped. Default: a new
   * id for each call.
   */
  messageId?: string;
}

/** The decision on an `@Approval` step. */
export interface Decision {
  /** The operator who decides: 1 to 255 characters. */
  by: string;
  /** A comment, at most 4,000 characters. Default: none. */
  comment?: string;
}

/** The maximum number of characters of a comment. */
const LONGEST_COMMENT = 4_000;

/** @throws SagaValidationError naming what is wrong */
export function readSignal(
  name: unknown,
  options: SignalOptions | undefined,
): { name: string; messageId: string | undefined } {
  const flaw = signalNameFlaw(name);
  if (flaw !== undefined) throw new SagaValidationError(`signal(): signal is ${shown(name)}; ${flaw}.`);
  const { messageId } = readOptions('signal(): options', options, ['messageId']);
  if (messageId !== undefined && !isKey(messageId))
    throw new SagaValidationError(`signal(): messageId must be ${KEY_RULE}.`);
  return { name: name as string, messageId };
}

/** @throws SagaValidationError naming everything that is wrong at once */
export function readDecision(call: 'approve' | 'reject', given: Decision): Omit<ApprovalDecision, 'at'> {
  if (typeof given !== 'object' || given === null)
    throw new SagaValidationError(`${call}(): the decision is ${shown(given)}; give { by: '<operator>' }.`);
  const { by, comment } = readOptions(`${call}(): decision`, given, ['by', 'comment']);
  const problems = [
    !isKey(by) && `by is ${shown(by)}; give the name of the operator in 1 to ${LONGEST_KEY} characters`,
    comment !== undefined &&
      comment !== '' &&
      !isKey(comment, LONGEST_COMMENT) &&
      `comment must be a string of at most ${LONGEST_COMMENT} characters, without NUL or half surrogate pairs`,
  ].filter((problem) => problem !== false);
  if (problems.length > 0) throw new SagaValidationError(`${call}(): ${problems.join('. ')}.`);
  return { by: by!, ...(comment !== undefined && { comment }) };
}
