import * as kind from '../../definition/options/kinds.js';
import { type OptionTable, withDefault } from '../../definition/options/option-reader.js';
import { readOptions } from '../../definition/options/read-options.js';
import { BULK_ACTIONS, type BulkAction } from '../../engine/ports/call-table.js';
import { shown } from '../../shared/shown-value.js';
import {
  SagaApprovalPendingError,
  SagaCodecError,
  SagaNotFoundError,
  SagaShardUnavailableError,
  SagaStateError,
  SagaValidationError,
} from '../../errors.js';
import { type OperatorOptions, WHO_AND_WHY } from './operator-options.js';
import { type Page, readFilter, type SagaFilter } from './saga-filter.js';
import type { SagaSummary } from '../views/saga-snapshot.js';

/** Options of `SagaOperations.bulk()`. */
export interface BulkOptions extends Omit<OperatorOptions, 'expects'> {
  /** Whether to only count the sagas that match. Default: false. */
  dryRun?: boolean;
  /** The maximum number of sagas, 1 to 100,000. Default: 1,000. */
  limit?: number;
}

/** The result of `SagaOperations.bulk()`. */
export interface BulkResult {
  /** The number of sagas that match the filter. */
  readonly matched: number;
  /** The number of sagas on which the action ran. */
  readonly done: number;
  /** The number of sagas whose action now waits for another operator. */
  readonly proposed: number;
  /** The sagas that are unchanged, with the error of each. */
  readonly failed: readonly { readonly id: string; readonly code: string; readonly error: string }[];
  /** Whether more sagas match than `limit`. */
  readonly more: boolean;
  /** The shards that could not be reached: their sagas are unchanged. Undefined: all were asked. */
  readonly unreachable?: readonly string[];
}

/** Runs the action on one saga. */
export type EditOne = (id: string, options: OperatorOptions) => Promise<unknown>;

type FindSagas = (filter: SagaFilter) => Promise<Page<SagaSummary>>;

const DEFAULT_LIMIT = 1_000;
const MOST = 100_000;
const OPTIONS = {
  ...WHO_AND_WHY,
  dryRun: withDefault(kind.flag, false),
  limit: withDefault(kind.count(1, MOST), DEFAULT_LIMIT),
} satisfies OptionTable<BulkOptions>;
const PAGE = 500;
/** The number of concurrent actions. Each uses a connection, and the application needs connections as well. */
const AT_ONCE = 4;

/** Runs an action on each saga that matches a filter. A saga that has changed since it was found is unchanged. */
export async function bulkEdit(
  edit: EditOne,
  find: FindSagas,
  action: BulkAction,
  filter: SagaFilter,
  given: BulkOptions | undefined,
): Promise<BulkResult> {
  if (!BULK_ACTIONS.includes(action))
    throw new SagaValidationError(
      `bulk(): action is ${shown(action)}; give one of ${BULK_ACTIONS.join(', ')}.`,
    );
  if (filter === undefined)
    throw new SagaValidationError(`bulk(): filter is undefined; give an object, or {} for all sagas.`);
  const { by, reason, dryRun, limit } = readOptions('bulk()', OPTIONS, given);
  const { found, more, unreachable } = await findAll(find, readFilter('bulk', filter), limit);
  const outcome = {
    matched: found.length,
    done: 0,
    proposed: 0,
    failed: [] as BulkResult['failed'][number][],
    more,
    ...(unreachable && { unreachable }),
  };
  if (dryRun) return outcome;
  const queue = [...found];
  const work = async () => {
    for (let saga = queue.shift(); saga; saga = queue.shift()) {
      const { id, status, revision } = saga;
      try {
        await edit(id, { by, reason, expects: { status, revision } });
        outcome.done += 1;
      } catch (error) {
        if (error instanceof SagaApprovalPendingError) {
          outcome.proposed += 1;
          continue;
        }
        // What is wrong with the call, or with the only database, is wrong for the others as well.
        if (!isOfOne(error)) throw error;
        outcome.failed.push({ id, code: error.code, error: error.message });
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return outcome;
}

/** Errors that concern a saga, or the sagas of one shard. */
const OF_ONE = [SagaStateError, SagaNotFoundError, SagaCodecError, SagaShardUnavailableError];

function isOfOne(error: unknown): error is InstanceType<(typeof OF_ONE)[number]> {
  return OF_ONE.some((type) => error instanceof type);
}

async function findAll(find: FindSagas, filter: SagaFilter, limit: number) {
  const found: SagaSummary[] = [];
  const missing = new Set<string>();
  let { cursor } = filter;
  for (;;) {
    const page = await find({ ...filter, cursor, limit: Math.min(PAGE, limit - found.length) });
    found.push(...page.items);
    for (const shard of page.unreachable ?? []) missing.add(shard);
    cursor = page.next;
    if (cursor !== undefined && found.length < limit) continue;
    return { found, more: cursor !== undefined, unreachable: missing.size > 0 ? [...missing] : undefined };
  }
}
