import type { Page } from '../nest/calls/saga-filter.js';
import { PAGE_SIZE } from '../shared/page-size.js';
import { EXIT, option } from './command.js';
import type { Terminal } from './terminal.js';
import { fitted } from './text/columns.js';
import { UsageError } from './usage-error.js';
import { readWhole } from './values.js';

/** The option for the length of a list. @param what it lists */
export const limitOf = (what: string) =>
  option.text('<number>', `the maximum number of ${what}; default: ${PAGE_SIZE.usual}`);

export function readLimit(written: string | undefined): number {
  const limit = readWhole(written, 'limit') ?? PAGE_SIZE.usual;
  if (limit === 0) throw new UsageError('--limit is 0; give a number from 1');
  return limit;
}

/** The first items from a cursor on, up to a limit, by as many calls as it takes. */
export async function pageOf<T>(
  from: string | undefined,
  limit: number,
  read: (page: { readonly cursor?: string; readonly limit: number }) => Promise<Page<T>>,
): Promise<Pick<Page<T>, 'items' | 'next'>> {
  const items: T[] = [];
  let cursor = from;
  do {
    const page = await read({
      ...(cursor !== undefined && { cursor }),
      limit: Math.min(PAGE_SIZE.longest, limit - items.length),
    });
    items.push(...page.items);
    cursor = page.next;
  } while (cursor !== undefined && items.length < limit);
  return { items, ...(cursor !== undefined && { next: cursor }) };
}

/** Prints a page as JSON, or as lines. */
export function printPage<T>(
  { items, next }: Pick<Page<T>, 'items' | 'next'>,
  terminal: Terminal,
  as: { readonly json: boolean | undefined; readonly empty: string; readonly more: string },
  linesOf: () => readonly string[],
): number {
  if (as.json) {
    terminal.out(JSON.stringify({ items, ...(next !== undefined && { next }) }, undefined, 2));
    return EXIT.done;
  }
  if (items.length === 0) terminal.error(as.empty);
  else for (const line of linesOf()) terminal.out(fitted(line, terminal.columns));
  if (next !== undefined) terminal.error(`${as.more}: --cursor ${next}`);
  return EXIT.done;
}
