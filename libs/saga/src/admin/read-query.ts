import { isKey } from '../engine/payload/storable-key.js';
import { toMilliseconds } from '../definition/options/duration.js';
import { unknownFlaw } from '../shared/read-object.js';
import { textOfDiagnostic, textOfProblems } from '../shared/diagnostic.js';
import { PAGE_SIZE } from '../shared/page-size.js';
import { shown } from '../shared/shown-value.js';
import { SagaValidationError } from '../errors.js';
import { NEEDS_ATTENTION, SAGA_STATUSES, type SagaStatus } from '../definition/types/saga-status.js';
import type { TaskFilter } from '../nest/calls/tasks-page.js';
import type { SagaFilter } from '../nest/calls/saga-filter.js';
import { withoutUndefined } from '../shared/without-undefined.js';

/** What comes in a query string: each name once or several times. */
export type QueryString = Readonly<Record<string, unknown>>;

const TEXTS = ['saga', 'search', 'step', 'waitingFor', 'errorCode', 'cursor'] as const;
const TIMES = ['createdAfter', 'createdBefore', 'endedAfter', 'endedBefore'] as const;
const FILTERS = [...TEXTS, ...TIMES, 'status', 'tag', 'overdue', 'limit'];
const TASK_FILTERS = ['saga', 'step', 'tag', 'limit', 'cursor'];

/** What a list was asked for. */
export interface ListQuery extends SagaFilter {
  saga?: string;
  limit: number;
  search?: string;
}

/**
 * The filter of a list. `status` may come several times or with commas, and be `needs-attention`; `tag` is `key:value`.
 * @throws SagaValidationError naming everything that is wrong at once
 */
export function readListQuery(query: QueryString): ListQuery {
  const problems: string[] = [];
  const refuse = (problem: string): undefined => void problems.push(problem);
  refuseUnknown(query, FILTERS, refuse);
  const one = (name: string) => readOne(name, query, refuse);
  const [createdAfter, createdBefore, from, to] = TIMES.map((name) => readTime(name, one(name), refuse));
  const filter = {
    ...Object.fromEntries(TEXTS.map((name) => [name, one(name)])),
    status: readStatuses(query.status, refuse),
    tags: readTags(query.tag, refuse),
    ...{ createdAfter, createdBefore },
    endedAt: from || to ? { from, to } : undefined,
    overdue: readFlag('overdue', one('overdue'), refuse),
    limit: readCount('limit', one('limit'), [1, PAGE_SIZE.longestOverRest], PAGE_SIZE.usual, refuse),
  };
  return givenOf<ListQuery>(filter, problems);
}

/**
 * The filter of the list of tasks. `tag` is `key:value`.
 * @throws SagaValidationError naming everything that is wrong at once
 */
export function readTaskQuery(query: QueryString): TaskFilter {
  const problems: string[] = [];
  const refuse = (problem: string): undefined => void problems.push(problem);
  refuseUnknown(query, TASK_FILTERS, refuse);
  const [saga, step, cursor, limit] = ['saga', 'step', 'cursor', 'limit'].map((name) =>
    readOne(name, query, refuse),
  );
  const filter = {
    ...{ saga, step, cursor },
    tags: readTags(query.tag, refuse),
    limit: readCount('limit', limit, [1, PAGE_SIZE.longestOverRest], PAGE_SIZE.usual, refuse),
  };
  return givenOf<TaskFilter>(filter, problems);
}

/** Undefined: it is not given. */
export function readOne(name: string, query: QueryString, refuse: Refuse): string | undefined {
  const value = query[name];
  if (value === undefined || value === '') return undefined;
  if (typeof value !== 'string') return refuse(`${name} is ${shown(value)}; give it only once`);
  // PostgreSQL has no such text.
  return isKey(value, Infinity) ? value : refuse(`${name} must be text without NUL or half surrogate pairs`);
}

/** What is given of a filter. @throws SagaValidationError if there are problems */
function givenOf<T>(filter: object, problems: readonly string[]): T {
  if (problems.length > 0) throw new SagaValidationError(`The query is invalid: ${textOfProblems(problems)}`);
  return withoutUndefined(filter) as T;
}

/** The longest time (ms) for which a request waits for a saga. */
const LONGEST_WAIT = 60_000;

/**
 * The time (ms) for which a request waits for a saga. Undefined: it does not wait.
 * @throws SagaValidationError
 */
export function readWait(query: QueryString): number | undefined {
  const problems: string[] = [];
  refuseUnknown(query, ['wait'], (problem): undefined => void problems.push(problem));
  if (problems.length > 0) throw new SagaValidationError(`The query is invalid: ${textOfProblems(problems)}`);
  const { wait } = query;
  return wait === undefined ? undefined : toMilliseconds(wait as string, 'wait', LONGEST_WAIT);
}

/** Reads the saga of a query, for the access check that comes before the rest is read. */
export function sagaOf(given: unknown): { readonly saga?: string } {
  const { saga } = (given ?? {}) as { saga?: unknown };
  return typeof saga === 'string' && saga !== '' ? { saga } : {};
}

export type Refuse = (problem: string) => undefined;

/** What stands in a query, and is nothing that it is asked by. */
export function refuseUnknown(query: QueryString, known: readonly string[], refuse: Refuse): void {
  for (const name of Object.keys(query))
    if (!known.includes(name)) refuse(textOfDiagnostic(unknownFlaw(name, known)));
}

/** A whole number within bounds. */
export function readCount(
  name: string,
  text: string | undefined,
  [least, most]: readonly [number, number],
  byDefault: number,
  refuse: Refuse,
): number {
  if (text === undefined) return byDefault;
  const value = /^\d{1,9}$/.test(text) ? Number(text) : NaN;
  if (value >= least && value <= most) return value;
  refuse(`${name} is ${shown(text)}; give a whole number from ${least} to ${most}`);
  return byDefault;
}

function readFlag(name: string, text: string | undefined, refuse: Refuse): boolean | undefined {
  if (text === undefined || text === 'true' || text === 'false') return text && text === 'true';
  return refuse(`${name} is ${shown(text)}; give true or false`);
}

function textsOf(given: unknown): string[] | undefined {
  const texts: unknown[] = given === undefined ? [] : Array.isArray(given) ? given : [given];
  return texts.every((text) => typeof text === 'string') ? texts.filter((text) => text !== '') : undefined;
}

function readStatuses(given: unknown, refuse: Refuse): SagaStatus[] | undefined {
  const words = textsOf(given)?.flatMap((text) => text.split(','));
  const statuses = words?.flatMap((word): SagaStatus[] =>
    word === 'needs-attention' ? [...NEEDS_ATTENTION] : [word as SagaStatus],
  );
  if (statuses?.every((status) => SAGA_STATUSES.includes(status)))
    return statuses.length === 0 ? undefined : [...new Set(statuses)];
  return refuse(
    `status is ${shown(given)}; give needs-attention, or one or more of ${SAGA_STATUSES.join(', ')}`,
  );
}

function readTags(given: unknown, refuse: Refuse): Record<string, string> | undefined {
  const pairs = textsOf(given)?.map((text) => [text, text.indexOf(':')] as const);
  if (!pairs?.every(([text, colon]) => colon > 0 && colon < text.length - 1))
    return refuse(`tag is ${shown(given)}; give key:value`);
  if (pairs.length === 0) return undefined;
  return Object.fromEntries(pairs.map(([text, colon]) => [text.slice(0, colon), text.slice(colon + 1)]));
}

/** A time of ISO 8601. */
export function readTime(name: string, text: string | undefined, refuse: Refuse): Date | undefined {
  if (text === undefined) return undefined;
  const time = new Date(text);
  return Number.isNaN(time.getTime())
    ? refuse(`${name} is ${shown(text)}; give an ISO 8601 time, such as 2030-01-31T12:00:00Z`)
    : time;
}
