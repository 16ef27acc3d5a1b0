import * as kind from '../../definition/options/kinds.js';
import { type Kind, optional, type OptionTable } from '../../definition/options/option-reader.js';
import { readOptions } from '../../definition/options/read-options.js';
import { SAGA_STATUSES, type SagaStatus } from '../../definition/types/saga-status.js';
import { isKey, LONGEST_KEY } from '../../engine/payload/storable-key.js';
import { withoutUndefined } from '../../shared/without-undefined.js';
import { comment } from './call-kinds.js';

/** Options of all operator actions. They are kept in the history. */
export interface OperatorOptions {
  /** The operator: 1 to 255 characters. Default: none. */
  by?: string;
  /** The reason: at most 4,000 characters. Default: none. */
  reason?: string;
  /**
   * The state that the operator saw: the status, the `revision`, or both. If the saga has another state, the call
   * changes nothing and throws SagaStateError. Default: any state.
   */
  expects?: SagaStatus | ExpectedState;
}

/** The operator and the reason: options of calls on schedules, steps of all sagas, and shards. */
export type ReasonOptions = Omit<OperatorOptions, 'expects'>;

/** The state of a saga that an operator saw. */
export interface ExpectedState {
  /** The status of the saga. Default: any. */
  status?: SagaStatus;
  /** The revision that `get()` or `find()` returned. Default: any. */
  revision?: number;
}

export const operatorName = kind.checked<string>(
  isKey,
  `give the name of the operator in 1 to ${LONGEST_KEY} characters`,
);
/** Who calls, and why. */
export const WHO_AND_WHY = {
  by: optional(operatorName),
  reason: optional(comment),
} satisfies OptionTable<ReasonOptions>;

const status = kind.checked<SagaStatus>(
  (value) => SAGA_STATUSES.includes(value),
  `give one of ${SAGA_STATUSES.join(', ')}`,
);
const EXPECTED = {
  status: optional(status),
  revision: optional(kind.checked<number>(Number.isInteger, 'give the revision that get() returned')),
} satisfies OptionTable<ExpectedState>;
const expected: Kind<SagaStatus | ExpectedState, ExpectedState> = {
  read: (value, option, reader) =>
    typeof value === 'string'
      ? { status: status.read(value, option, reader) }
      : reader.below(EXPECTED, value, option, 'a status, or an object such as { revision: 3 }'),
};
export const OPERATOR = {
  ...WHO_AND_WHY,
  expects: optional(expected),
} satisfies OptionTable<OperatorOptions>;

/**
 * Who calls, and why, of a call that has no other options. An empty reason counts as none.
 * @throws SagaValidationError that names all invalid options
 */
export function readWho(call: string, given: unknown): { readonly by?: string; readonly reason?: string } {
  const { by, reason } = readOptions(`${call}()`, WHO_AND_WHY, given);
  return withoutUndefined({ by, reason: reason || undefined });
}
