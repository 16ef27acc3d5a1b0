import type { SagaStats } from '../../nest/views/saga-stats.js';
import { columns } from '../text/columns.js';
import { command, DATABASE_OPTIONS, EXIT, JSON_OPTION } from '../command.js';
import { operating } from '../session.js';
import { lookOf, type Paint, paintOn } from '../text/style.js';
import { fromNow } from '../../shared/duration-text.js';

export const stats = command({
  words: 'stats',
  operands: [],
  summary: 'Counts unfinished sagas by name and status, due sagas and messages',
  examples: ['saga stats', 'saga stats --json'],
  options: { ...DATABASE_OPTIONS, ...JSON_OPTION },
  run: async ({ values, terminal }) => {
    const found = await operating(values, terminal, ({ sagas }) => sagas.stats());
    terminal.out(
      values.json ? JSON.stringify(found, undefined, 2) : linesOf(found, paintOn(terminal)).join('\n'),
    );
    return EXIT.done;
  },
});

function linesOf(
  { at, sagas, due, oldestDue, overdue, pausedSteps, outbox }: SagaStats,
  paint: Paint,
): string[] {
  const ago = (time: Date | undefined) => (time ? `, the oldest since ${fromNow(time, at.getTime())}` : '');
  const rows = sagas.map(({ saga, version, status, count }) => [
    `${saga}@${version}`,
    paint(lookOf(status), status),
    String(count),
  ]);
  return [
    ...(rows.length > 0 ? columns(rows) : ['No unfinished sagas']),
    '',
    ...columns([
      ['due', `${due}${ago(oldestDue)}`],
      ['overdue', String(overdue)],
      ...(pausedSteps.length > 0
        ? [['paused steps', pausedSteps.map(({ saga, step }) => `${saga}.${step}`).join(', ')]]
        : []),
      ['outbox', `${outbox.waiting} waiting${ago(outbox.oldest)}; ${outbox.dead} dead`],
    ]),
  ];
}
