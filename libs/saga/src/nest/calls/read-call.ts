import * as kind from '../../definition/options/kinds.js';
import { type AnyTable, type Kind, optional, required } from '../../definition/options/option-reader.js';
import { readOptions } from '../../definition/options/read-options.js';
import type { CallValues, OperatorCall } from '../../engine/operate/operator-calls.js';
import { encodePayload } from '../../engine/payload/payload.js';
import { isKey } from '../../engine/payload/storable-key.js';
import {
  type ApprovalRule,
  argumentsOf,
  type CallOption,
  factsOf,
  type ChangingCall,
} from '../../engine/ports/call-table.js';
import { newId } from '../../shared/new-id.js';
import type { ResolvedSagaOptions } from '../saga.options.js';
import { storableTimeOf } from './call-kinds.js';
import { OPERATOR } from './operator-options.js';
import { readDecision } from './signals.js';

/** A time is kept as it was given, so that two people who give the same propose the same. */
interface GivenTime {
  readonly from: (now: number) => number;
  readonly written: string;
}

const time: Kind<unknown, GivenTime> = {
  read: (value, option, reader) => {
    const date = storableTimeOf(value);
    if (date !== undefined) return { from: () => date, written: new Date(date).toISOString() };
    if (typeof value !== 'number' && typeof value !== 'string')
      return reader.refuse(value, option, "give a Date, or a duration from now such as '2h'");
    const duration = reader.duration(value, option);
    return duration === undefined ? undefined : { from: (now) => now + duration, written: `${duration} ms` };
  },
};
const KINDS = {
  text: kind.text,
  flag: kind.flag,
  step: kind.checked<string>(isKey, 'give the name of a step'),
  json: kind.anything(),
  time,
} as Readonly<Record<CallOption['type'], Kind<unknown, unknown>>>;

/**
 * Reads and checks what an operator's call was given, by the table of calls.
 * @param operands what stands before the options, by name
 * @throws SagaValidationError, SagaPayloadError
 */
export function readCall(
  action: ChangingCall,
  operands: Readonly<Record<string, unknown>>,
  options: object | undefined,
  rules: Pick<ResolvedSagaOptions, 'approvals' | 'maxPayloadBytes'>,
): OperatorCall {
  const { decides, options: known, approvals: rule } = factsOf(action);
  const names = argumentsOf(action);
  const tableOf = (some: readonly string[]): AnyTable =>
    Object.fromEntries(
      some.map((name) => {
        const { type, required: isRequired } = known[name]!;
        return [name, isRequired ? required(KINDS[type]) : optional(KINDS[type])];
      }),
    );
  const call = `${action}()`;
  const { by, reason, expects, ...own } = decides
    ? readDecision(call, options)
    : readOptions(call, { ...OPERATOR, ...tableOf(names.options) }, options);
  const placed = readOptions(call, tableOf(names.operands), operands, 'arguments');
  const values: Record<string, unknown> = { ...placed, ...own };
  let given: string | undefined;
  for (const [name, { type }] of Object.entries(known)) {
    if (type === 'json') {
      const what = placed.step === undefined ? name : `${name} of step '${placed.step as string}'`;
      given = encodePayload(values[name], what, rules.maxPayloadBytes);
      values[name] = given;
    } else if (type === 'time') {
      const { from, written } = values[name] as GivenTime;
      values[name] = from;
      given = JSON.stringify(written);
    }
  }
  const hasRule = rule === action || (values as CallValues).input !== undefined;
  const needed = (rule !== undefined && hasRule && rules.approvals[rule as ApprovalRule]) || 1;
  return { id: newId(), action, by, reason, expects, ...values, given, needed };
}
