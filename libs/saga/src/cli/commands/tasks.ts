import type { TaskFilter } from '../../nest/calls/tasks-page.js';
import type { ApprovalTask } from '../../nest/views/approval-task.js';
import { fromNow } from '../../shared/duration-text.js';
import { command, JSON_OPTION, option } from '../command.js';
import { SAGA_OPTIONS } from '../operator-session.js';
import { operating } from '../session.js';
import { columns } from '../text/columns.js';
import { limitOf, pageOf, printPage, readLimit } from '../page-of.js';
import { type Paint, paintOn } from '../text/style.js';
import { readTags } from '../values.js';

export const tasks = command({
  words: 'tasks',
  operands: [],
  summary: 'Lists the steps that wait for approval, oldest first',
  examples: ['saga tasks', 'saga tasks --saga place-order --step checkFraud --tag country=fr --json'],
  options: {
    ...SAGA_OPTIONS,
    ...JSON_OPTION,
    saga: option.text('<name>', 'only of this saga'),
    step: option.text('<name>', 'only this step'),
    tag: option.several('<name>=<value>', 'only of sagas with this tag'),
    limit: limitOf('steps'),
    cursor: option.text('<text>', 'continue after the previous page'),
  },
  run: async ({ values, terminal }) => {
    const limit = readLimit(values.limit);
    const { saga, step } = values;
    const tags = readTags(values.tag);
    const filter: TaskFilter = {
      ...(saga !== undefined && { saga }),
      ...(step !== undefined && { step }),
      ...(tags && { tags }),
    };
    const { now, ...page } = await operating(values, terminal, async ({ sagas, running }) => ({
      ...(await pageOf(values.cursor, limit, (part) => sagas.tasks({ ...filter, ...part }))),
      now: running.engine.now(),
    }));
    return printPage(
      page,
      terminal,
      { json: values.json, empty: 'No step waits for approval', more: 'More steps' },
      () => linesOf(page.items, now, paintOn(terminal)),
    );
  },
});

function linesOf(items: readonly ApprovalTask[], now: number, paint: Paint): string[] {
  const head = ['ID', 'SAGA', 'STEP', 'CORRELATION ID', 'SINCE', 'UNTIL', 'APPROVALS'];
  return columns([
    head.map((title) => paint('dim', title)),
    ...items.map((item) => [
      item.id,
      `${item.saga}@${item.version}`,
      item.step,
      item.correlationId === item.id ? '' : item.correlationId,
      fromNow(item.since, now),
      item.until ? fromNow(item.until, now) : '',
      approvalsOf(item),
    ]),
  ]);
}

function approvalsOf({ quorum, approvals }: ApprovalTask): string {
  if (quorum === 1) return '';
  const who = approvals.length > 0 ? ` (${approvals.map(({ by }) => by).join(', ')})` : '';
  return `${approvals.length} of ${quorum}${who}`;
}
