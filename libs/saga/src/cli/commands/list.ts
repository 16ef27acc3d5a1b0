import type { SagaFilter } from '../../nest/calls/saga-filter.js';
import type { SagaSummary } from '../../nest/views/saga-snapshot.js';
import { columns } from '../text/columns.js';
import { limitOf, pageOf, printPage, readLimit } from '../page-of.js';
import { command, JSON_OPTION, option } from '../command.js';
import { operating } from '../session.js';
import { SAGA_OPTIONS } from '../operator-session.js';
import { lookOf, type Paint, paintOn } from '../text/style.js';
import { readStatuses, readTags, readWhere, WHERE } from '../values.js';
import { fromNow } from '../../shared/duration-text.js';
import { oneLine } from '../../shared/one-line.js';

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
    limit: limitOf('sagas'),
    cursor: option.text('<id>', 'continue after this saga, the last one of the previous page'),
  },
  run: async ({ operands: [saga], values, terminal }) => {
    const limit = readLimit(values.limit);
    const given = readWhere(values.where ?? []);
    const status = values.status?.flatMap(readStatuses);
    const tags = readTags(values.tag);
    const filter: SagaFilter = {
      ...given,
      ...(saga !== undefined && { saga }),
      ...(status && { status }),
      ...(tags && { tags: { ...given.tags, ...tags } }),
    };
    const { now, ...page } = await operating(values, terminal, async ({ sagas, running }) => ({
      ...(await pageOf(values.cursor, limit, (part) => sagas.find({ ...filter, ...part }))),
      now: running.engine.now(),
    }));
    return printPage(page, terminal, { json: values.json, empty: 'No sagas', more: 'More sagas' }, () =>
      linesOf(page.items, now, paintOn(terminal)),
    );
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
