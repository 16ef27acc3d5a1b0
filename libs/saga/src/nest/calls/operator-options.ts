import { shown } from '../../shared/shown-value.js';
import type { OperatorCall } from '../../engine/operate/operator-calls.js';
import { isKey, LONGEST_KEY } from '../../engine/payload/storable-key.js';
import { SagaValidationError } from '../../errors.js';
import { SAGA_STATUSES, type SagaStatus } from '../../definition/types/saga-status.js';
import { readOptions } from './call-options.js';

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

/** The state of a saga that an operator saw. */
export interface ExpectedState {
  /** The status of the saga. Default: any. */
  status?: SagaStatus;
  /** The revision that `get()` or `find()` returned. Default: any. */
  revision?: number;
}

/** The maximum number of characters of a reason. */
const LONGEST_REASON = 4_000;

const WHO_AND_WHY = ['by', 'reason'] as const;
const OPERATOR = [...WHO_AND_WHY, 'expects'] as const;

/** The validated options of an operator action, and the options of the call itself. */
export type ReadOperatorOptions<Own extends object> = Pick<OperatorCall, 'by' | 'reason' | 'expects'> & {
  readonly own: Partial<Own>;
};

/**
 * @param names the call's own options
 * @throws SagaValidationError naming everything that is wrong at once
 */
export function readOperatorOptions<Own extends object>(
  call: string,
  given: (OperatorOptions & Own) | undefined,
  names: readonly (keyof Own & string)[] = [],
): ReadOperatorOptions<Own> {
  const read = readOptions<OperatorOptions & Own>(`${call}(): options`, given, [...OPERATOR, ...names]);
  const { by, reason, expects, ...own } = read as OperatorOptions;
  return { ...checkedOperator(call, { by, reason, expects }), own: own };
}

/** Validates the options of `bulk()`, which expects each saga to be unchanged since it was found. */
export function readBulkOptions<Own extends object>(
  call: string,
  given: (Omit<OperatorOptions, 'expects'> & Own) | undefined,
  names: readonly (keyof Own & string)[],
): ReadOperatorOptions<Own> {
  const read = readOptions<Omit<OperatorOptions, 'expects'> & Own>(`${call}(): options`, given, [
    ...WHO_AND_WHY,
    ...names,
  ]);
  const { by, reason, ...own } = read as OperatorOptions;
  return { ...checkedOperator(call, { by, reason }), own: own as Partial<Own> };
}

function checkedOperator(
  call: string,
  { by, reason, expects }: OperatorOptions,
): Pick<OperatorCall, 'by' | 'reason' | 'expects'> {
  const expected =
    typeof expects === 'string' || expects === undefined
      ? { status: expects }
      : readOptions<ExpectedState>(`${call}(): expects`, expects, ['status', 'revision']);
  const { status, revision }: { status?: SagaStatus; revision?: number } = expected;
  const problems = [
    by !== undefined &&
      !isKey(by) &&
      `by is ${shown(by)}; give the name of the operator in 1 to ${LONGEST_KEY} characters`,
    reason !== undefined &&
      reason !== '' &&
      !isKey(reason, LONGEST_REASON) &&
      `reason must be a string of at most ${LONGEST_REASON} characters, without NUL or half surrogate pairs`,
    status !== undefined &&
      !SAGA_STATUSES.includes(status) &&
      `expects is ${shown(status)}; give one of ${SAGA_STATUSES.join(', ')}`,
    revision !== undefined &&
      !Number.isInteger(revision) &&
      `expects.revision is ${shown(revision)}; give the revision that get() returned`,
  ].filter((problem) => problem !== false);
  if (problems.length > 0) throw new SagaValidationError(`${call}(): ${problems.join('. ')}.`);
  return { by, reason, expects: { status, revision } };
}
