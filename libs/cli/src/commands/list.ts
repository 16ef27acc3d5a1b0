import type { Page, SagaFilter, SagaSummary } from 'nestjs-durable-saga';
import type { ApprovalTask } from 'nestjs-durable-saga/operators';
import { PAGE_SIZE, fromNow, oneLine, withoutUndefined } from 'nestjs-durable-saga/internal';
import { type CommandAnswer, option, shows, UsageError } from '../command.js';
import { sagaCommand } from '../session.js';
import type { Terminal } from '../terminal.js';
import { columns, fitted } from '../text/columns.js';
import { paintOn, statusOn } from '../text/style.js';
import { readStatuses, readTags, readWhere, readWhole, WHERE } from '../values.js';

const LONGEST_ERROR = 60;

export const list = sagaCommand({
  words: 'list',
  operands: ['[<saga>]'],
  summary: 'Lists sagas, newest first',
  examples: [
    'saga list --status stuck,suspended',
    'saga list place-order --tag customer=7 --json',
    'saga list --where created-after=15m --limit 200',
  ],
  options: {
    status: option.several('<status>', 'only this status, or several separated by commas'),
    tag: option.several('<name>=<value>', 'only with this tag'),
    where: option.several('<name>=<value>', WHERE),
    limit: limitOf('sagas'),
    cursor: option.text('<id>', 'continue after this saga, the last one of the previous page'),
  },
  prepare: ({ operands: [saga], values }) => {
    const given = readWhere(values.where ?? []);
    const tags = readTags(values.tag);
    const filter: SagaFilter = {
      ...given,
      ...withoutUndefined({ saga, status: values.status?.flatMap(readStatuses) }),
      ...(tags && { tags: { ...given.tags, ...tags } }),
    };
    return { filter, limit: readLimit(values.limit) };
  },
  run: async ({ values, terminal }, { sagas, running }, { filter, limit }) => {
    const page = await pageOf(values.cursor, limit, (part) => sagas.find({ ...filter, ...part }));
    const now = running.engine.now();
    return printed(page, terminal, {
      ...{ empty: 'No sagas', more: 'More sagas' },
      heads: ['ID', 'SAGA', 'STATUS', 'CORRELATION ID', 'CHANGED', 'CURRENT STEP', 'ERROR'],
      row: (item: SagaSummary) => [
        item.id,
        `${item.saga}@${item.version}`,
        statusOn(terminal, item.status),
        item.correlationId === item.id ? '' : item.correlationId,
        fromNow(item.updatedAt, now),
        item.step,
        cut(oneLine(item.error ?? '')),
      ],
    });
  },
});

export const tasks = sagaCommand({
  words: 'tasks',
  operands: [],
  summary: 'Lists the steps that wait for approval, oldest first',
  examples: ['saga tasks', 'saga tasks --saga place-order --step checkFraud --tag country=fr --json'],
  options: {
    saga: option.text('<name>', 'only of this saga'),
    step: option.text('<name>', 'only this step'),
    tag: option.several('<name>=<value>', 'only of sagas with this tag'),
    limit: limitOf('steps'),
    cursor: option.text('<text>', 'continue after the previous page'),
  },
  prepare: ({ values: { saga, step, tag, limit } }) => ({
    filter: withoutUndefined({ saga, step, tags: readTags(tag) }),
    limit: readLimit(limit),
  }),
  run: async ({ values, terminal }, { sagas, running }, { filter, limit }) => {
    const page = await pageOf(values.cursor, limit, (part) => sagas.tasks({ ...filter, ...part }));
    const now = running.engine.now();
    return printed(page, terminal, {
      ...{ empty: 'No step waits for approval', more: 'More steps' },
      heads: ['ID', 'SAGA', 'STEP', 'CORRELATION ID', 'SINCE', 'UNTIL', 'APPROVALS'],
      row: (item: ApprovalTask) => [
        item.id,
        `${item.saga}@${item.version}`,
        item.step,
        item.correlationId === item.id ? '' : item.correlationId,
        fromNow(item.since, now),
        item.until ? fromNow(item.until, now) : '',
        approvalsOf(item),
      ],
    });
  },
});

function cut(text: string): string {
  return text.length > LONGEST_ERROR ? `${text.slice(0, LONGEST_ERROR - 1)}…` : text;
}

function approvalsOf({ quorum, approvals }: ApprovalTask): string {
  if (quorum === 1) return '';
  const who = approvals.length > 0 ? ` (${approvals.map(({ by }) => by).join(', ')})` : '';
  return `${approvals.length} of ${quorum}${who}`;
}

/** The option for the length of a list. @param what it lists */
function limitOf(what: string) {
  return option.text('<number>', `the maximum number of ${what}; default: ${PAGE_SIZE.usual}`);
}

function readLimit(written: string | undefined): number {
  const limit = readWhole(written, 'limit') ?? PAGE_SIZE.usual;
  if (limit === 0) throw new UsageError('--limit is 0; give a number from 1');
  return limit;
}

type Items<T> = Pick<Page<T>, 'items' | 'next'>;

/** The first items from a cursor on, up to a limit, by as many calls as it takes. */
async function pageOf<T>(
  from: string | undefined,
  limit: number,
  read: (page: { readonly cursor?: string; readonly limit: number }) => Promise<Page<T>>,
): Promise<Items<T>> {
  const items: T[] = [];
  let cursor = from;
  do {
    const part = Math.min(PAGE_SIZE.longest, limit - items.length);
    const page = await read(withoutUndefined({ cursor, limit: part }));
    items.push(...page.items);
    cursor = page.next;
  } while (cursor !== undefined && items.length < limit);
  return withoutUndefined({ items, next: cursor });
}

interface ListText<T> {
  readonly empty: string;
  readonly more: string;
  readonly heads: readonly string[];
  readonly row: (item: T) => readonly string[];
}

function printed<T>(
  page: Items<T>,
  terminal: Terminal,
  { empty, more, heads, row }: ListText<T>,
): CommandAnswer {
  const { items, next } = page;
  const paint = paintOn(terminal);
  const lines = columns([heads.map((title) => paint('dim', title)), ...items.map(row)]);
  const notes = [
    ...(items.length === 0 ? [empty] : []),
    ...(next === undefined ? [] : [`${more}: --cursor ${next}`]),
  ];
  const text = items.length === 0 ? [] : lines.map((line) => fitted(line, terminal.columns));
  return { ...shows(page, text), notes };
}
