import { toMilliseconds } from '../../definition/options/duration.js';
import type { CallValues, OperatorCall } from '../../engine/operate/operator-calls.js';
import { encodePayload } from '../../engine/payload/payload.js';
import { isKey } from '../../engine/payload/storable-key.js';
import {
  type ApprovalRule,
  argumentsOf,
  factsOf,
  type OperatorAction,
} from '../../engine/ports/call-table.js';
import { SagaValidationError } from '../../errors.js';
import { newId } from '../../shared/new-id.js';
import { shown } from '../../shared/shown-value.js';
import type { ResolvedSagaOptions } from '../saga.options.js';
import { readOperatorOptions } from './operator-options.js';
import { type Decision, readDecision } from './signals.js';
import { storableTimeOf } from './call-kinds.js';

/**
 * Reads and checks what an operator's call was given, by the table of calls.
 * @param operands what stands before the options, by name
 * @throws SagaValidationError, SagaPayloadError
 */
export function readCall(
  action: OperatorAction,
  operands: Readonly<Record<string, unknown>>,
  options: object | undefined,
  rules: Pick<ResolvedSagaOptions, 'approvals' | 'maxPayloadBytes'>,
): OperatorCall {
  const { decides, options: known, approvals: rule } = factsOf(action);
  const { own, ...caller } = decides
    ? readDecider(action, options as Decision)
    : readOperatorOptions<object>(action, options, argumentsOf(action).options as never[]);
  const values: Record<string, unknown> = { ...operands, ...own };
  let given: string | undefined;
  for (const [name, { type, required }] of Object.entries(known)) {
    const value = values[name];
    if (type === 'step' && (required || value !== undefined)) checkStep(action, name, value);
    if (type === 'flag') checkFlag(action, name, value);
    if (type === 'json') {
      const what = operands.step === undefined ? name : `${name} of step '${operands.step as string}'`;
      given = encodePayload(value, what, rules.maxPayloadBytes);
      values[name] = given;
    }
    if (type === 'time') {
      const time = readTime(action, name, value);
      values[name] = time.from;
      given = JSON.stringify(time.written);
    }
  }
  const hasRule = rule === action || (values as CallValues).input !== undefined;
  const needed = (rule !== undefined && hasRule && rules.approvals[rule as ApprovalRule]) || 1;
  return { id: newId(), action, ...caller, ...values, given, needed };
}

function readDecider(call: OperatorAction, given: Decision) {
  const { by, comment: reason } = readDecision(call, given);
  return { by, reason, own: {} };
}

function checkStep(call: string, option: string, value: unknown): void {
  if (isKey(value)) return;
  throw new SagaValidationError(`${call}(): ${option} is ${shown(value)}; give the name of a step.`);
}

function checkFlag(call: string, option: string, value: unknown): void {
  if (value === undefined || typeof value === 'boolean') return;
  throw new SagaValidationError(`${call}(): ${option} is ${shown(value)}; give true or false.`);
}

/** The time is kept as it was given, so that two people who give the same propose the same. */
function readTime(call: string, option: string, value: unknown) {
  const date = storableTimeOf(value);
  if (date !== undefined) return { from: () => date, written: new Date(date).toISOString() };
  if (typeof value !== 'number' && typeof value !== 'string') {
    throw new SagaValidationError(
      `${call}(): ${option} is ${shown(value)}; give a Date, or a duration from now such as '2h'.`,
    );
  }
  const duration = toMilliseconds(value, `${call}(): ${option}`);
  return { from: (now: number) => now + duration, written: `${duration} ms` };
}
