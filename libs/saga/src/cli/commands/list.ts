import type { SagaFilter } from '../../nest/calls/saga-filter.js';
import type { SagaSummary } from '../../nest/views/saga-snapshot.js';
import { columns, fitted } from '../text/columns.js';
import { command, EXIT, JSON_OPTION, option } from '../command.js';
import { operating } from '../session.js';
import { SAGA_OPTIONS } from '../operator-session.js';
import { lookOf, type Paint, paintOn } from '../text/style.js';
import { UsageError } from '../usage-error.js';
import { readStatuses, readTags, readWhere, readWhole, WHERE } from '../values.js';
import { fromNow } from '../../shared/duration-text.js';
import { oneLine } from '../../shared/one-line.js';

const FIRST_PAGE = 50;
/** As many as `find` gives at once. */
const LONGEST_PAGE = 1_000;
const LONGEST_ERROR = 60;

export const list = command({
  words: 'list',
  operands: ['[<saga>]'],
  summary: 'Lists sagas, newest first',
  examples: [
    'saga list --status stuck,suspended',
    'saga list place-order --tag customer=7 --json',
    'saga list --where created-after=15m --limit 200',
  ],
  options: {
    ...SAGA_OPTIONS,
    ...JSON_OPTION,
    status: option.several('<status>', 'only this status, or several separated by commas'),
    tag: option.several('<name>=<value>', 'only with this tag'),
    where: option.several('<name>=<value>', WHERE),
    limit: option.text('<number>', `the maximum number of sagas; default: ${FIRST_PAGE}`),
    cursor: option.text('<id>', 'continue after this saga, the last one of the previous page'),
  },
  run: async ({ operands: [saga], values, terminal }) => {
    const limit = readWhole(values.limit, 'limit') ?? FIRST_PAGE;
    if (limit === 0) throw new UsageError('--limit is 0; give a number from 1');
    const given = readWhere(values.where ?? []);
    const status = values.status?.flatMap(readStatuses);
    const tags = readTags(values.tag);
    const filter: SagaFilter = {
      ...given,
      ...(saga !== undefined && { saga }),
      ...(status && { status }),
      ...(tags && { tags: { ...given.tags, ...tags } }),
      ...(values.cursor !== undefined && { cursor: values.cursor }),
    };
    const { items, next, now } = await operating(values, terminal, async ({ sagas, running }) => {
      const found: SagaSummary[] = [];
      let cursor = filter.cursor;
      do {
        const page = await sagas.find({
          ...filter,
          ...(cursor !== undefined && { cursor }),
          limit: Math.min(LONGEST_PAGE, limit - found.length),
        });
        found.push(...page.items);
        cursor = page.next;
      } while (cursor !== undefined && found.length < limit);
      return { items: found, next: cursor, now: running.engine.now() };
    });
    if (values.json) {
      terminal.out(JSON.stringify({ items, ...(next !== undefined && { next }) }, undefined, 2));
      return EXIT.done;
    }
    if (items.length === 0) terminal.error('No sagas');
    else
      for (const line of linesOf(items, now, paintOn(terminal))) terminal.out(fitted(line, terminal.columns));
    if (next !== undefined) terminal.error(`More sagas: --cursor ${next}`);
    return EXIT.done;
  },
});

function linesOf(items: readonly SagaSummary[], now: number, paint: Paint): string[] {
  const head = ['ID', 'SAGA', 'STATUS', 'CORRELATION ID', 'CHANGED', 'CURRENT STEP', 'ERROR'];
  return columns([
    head.map((title) => paint('dim', title)),
    ...items.map((item) => [
      item.id,
      `${item.saga}@${item.version}`,
      paint(lookOf(item.status), item.status),
      item.correlationId === item.id ? '' : item.correlationId,
      fromNow(item.updatedAt, now),
      item.step,
      cut(oneLine(item.error ?? '')),
    ]),
  ]);
}

function cut(text: string): string {
  return text.length > LONGEST_ERROR ? `${text.slice(0, LONGEST_ERROR - 1)}…` : text;
}
