import type { OperatorAction } from '../../engine/ports/operation.js';
import { decisionEdit } from '../../engine/operate/approvals.js';
import type { OperatorCall } from '../../engine/operate/operator-calls.js';
import { keepRedacted } from '../../engine/operate/keep-redacted.js';
import { cancelEdit, retryEdit, skipEdit } from '../../engine/operate/operator-edits.js';
import { abandonEdit, completeEdit, retryNowEdit } from '../../engine/operate/way-out-edits.js';
import { rescheduleEdit } from '../../engine/operate/reschedule-edit.js';
import { encodePayload } from '../../engine/payload/payload.js';
import { NEEDS_ATTENTION } from '../../definition/types/saga-status.js';
import { type OperatorOptions, readOperatorOptions } from './operator-options.js';
import {
  abandonedError,
  type AbandonOptions,
  type CancelOptions,
  type Change,
  checkFlag,
  checkStep,
  type CompleteOptions,
  type RetryOptions,
  type SkipOptions,
  withInput,
} from './saga-calls.js';
import { type Duration, toMilliseconds } from '../../definition/options/duration.js';
import { storableTimeOf } from './call-kinds.js';
import { shown } from '../../shared/shown-value.js';
import { SagaValidationError } from '../../errors.js';
import { type Decision, readDecision } from './signals.js';

/** An operator's call that was read and checked: who makes it and why, what it changes, and what is kept of it. */
export interface ReadCall {
  readonly action: OperatorAction;
  readonly given: OperatorOptions | undefined;
  readonly change: Change;
  readonly about?: Pick<OperatorCall, 'step' | 'newInput' | 'given'>;
}

export function readCancel(options: (OperatorOptions & CancelOptions) | undefined): ReadCall {
  const { own, ...given } = readOperatorOptions<CancelOptions>('cancel', options, ['unlessBegun']);
  const { unlessBegun } = own;
  if (unlessBegun !== undefined) checkStep('cancel', unlessBegun);
  const change: Change = (saga, graph, now, { reason }) =>
    cancelEdit(saga, graph, now, { reason, unlessBegun });
  return { action: 'cancel', given, change };
}

export function readDecisionOn(call: 'approve' | 'reject', step: string, decided: Decision): ReadCall {
  checkStep(call, step);
  const { by, comment } = readDecision(call, decided);
  const change: Change = (saga, graph, now, { id: messageId }) => {
    const at = new Date(now).toISOString();
    const decision = { approved: call === 'approve', by, ...(comment !== undefined && { comment }), at };
    return decisionEdit(saga, graph, { step, decision, messageId });
  };
  return { action: call, given: { by, reason: comment }, change, about: { step } };
}

export function readRetry(
  options: (OperatorOptions & RetryOptions) | undefined,
  maxPayloadBytes: number,
): ReadCall {
  const { own, ...given } = readOperatorOptions<RetryOptions>('retry', options, ['input', 'step', 'now']);
  const { step, now: isNow } = own;
  if (step !== undefined) checkStep('retry', step);
  checkFlag('retry', 'now', isNow);
  const input = 'input' in own ? { text: encodePayload(own.input, 'input', maxPayloadBytes) } : undefined;
  const change: Change = (saga, graph, now) => {
    const kept = input && { text: keepRedacted(input.text, saga.input, graph) };
    return isNow && !NEEDS_ATTENTION.includes(saga.state.status)
      ? withInput(retryNowEdit(saga, graph, now, { step }), kept)
      : retryEdit(saga, graph, now, { step, input: kept });
  };
  return {
    ...{ action: 'retry', given, change },
    about: { step, newInput: input && true, given: input?.text },
  };
}

export function readSkip(
  step: string,
  options: (OperatorOptions & SkipOptions) | undefined,
  maxPayloadBytes: number,
): ReadCall {
  checkStep('skip', step);
  const { own, ...given } = readOperatorOptions<SkipOptions>('skip', options, ['result']);
  const result = encodePayload(own.result, `result of step '${step}'`, maxPayloadBytes);
  const change: Change = (saga, graph, now) => skipEdit(saga, graph, now, { step, result });
  return { action: 'skip', given, change, about: { step, given: result } };
}

export function readAbandon(step: string, options: (OperatorOptions & AbandonOptions) | undefined): ReadCall {
  checkStep('abandonAttempt', step);
  const { own, ...given } = readOperatorOptions<AbandonOptions>('abandonAttempt', options, ['force']);
  const { force } = own;
  checkFlag('abandonAttempt', 'force', force);
  const error = abandonedError(given);
  const change: Change = (saga, graph, now) =>
    abandonEdit(saga, graph, now, { step, force, error, random: Math.random() });
  return { action: 'abandonAttempt', given, change, about: { step } };
}

export function readComplete(
  step: string,
  options: (OperatorOptions & CompleteOptions) | undefined,
  maxPayloadBytes: number,
): ReadCall {
  checkStep('complete', step);
  const names = ['result', 'force'] as const;
  const { own, ...given } = readOperatorOptions<CompleteOptions>('complete', options, names);
  const { force } = own;
  checkFlag('complete', 'force', force);
  const result = encodePayload(own.result, `result of step '${step}'`, maxPayloadBytes);
  const change: Change = (saga, graph, now) => completeEdit(saga, graph, now, { step, force, result });
  return { action: 'complete', given, change, about: { step, given: result } };
}

/** The time is kept as it was given, so that two people who give the same propose the same. */
export function readReschedule(
  step: string,
  at: Date | Duration,
  options: OperatorOptions | undefined,
  maxPayloadBytes: number,
): ReadCall {
  checkStep('reschedule', step);
  const { own: _, ...given } = readOperatorOptions('reschedule', options);
  const date = storableTimeOf(at);
  if (date === undefined && typeof at !== 'number' && typeof at !== 'string')
    throw new SagaValidationError(
      `reschedule(): at is ${shown(at)}; give a Date, or a duration from now such as '2h'.`,
    );
  const duration = date === undefined ? toMilliseconds(at as Duration, 'reschedule(): at') : 0;
  const to = date === undefined ? `${duration} ms` : new Date(date).toISOString();
  const change: Change = (saga, graph, now) =>
    rescheduleEdit(saga, graph, now, { step, at: (from) => date ?? from + duration });
  return {
    ...{ action: 'reschedule', given, change },
    about: { step, given: encodePayload(to, 'at', maxPayloadBytes) },
  };
}
