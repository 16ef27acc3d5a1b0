import { fromNow, sagaLabel } from 'nestjs-durable-saga/internal';
import { shows } from '../command.js';
import { sagaCommand } from '../session.js';
import { columns } from '../text/columns.js';
import { statusOn } from '../text/style.js';

export const stats = sagaCommand({
  words: 'stats',
  operands: [],
  summary: 'Counts unfinished sagas by name and status, due sagas and messages',
  examples: ['saga stats', 'saga stats --json'],
  options: {},
  run: async ({ terminal }, operated) => {
    const found = await operated.operations.stats();
    const { at, sagas, due, oldestDue, overdue, pausedSteps, outbox } = found;
    const ago = (time: Date | undefined) => (time ? `, the oldest since ${fromNow(time, at.getTime())}` : '');
    const rows = sagas.map(({ saga, version, status, count }) => [
      sagaLabel({ name: saga, version }),
      statusOn(terminal, status),
      String(count),
    ]);
    const paused = pausedSteps.map(({ saga, step }) => `${saga}.${step}`).join(', ');
    return shows(found, [
      ...(rows.length > 0 ? columns(rows) : ['No unfinished sagas']),
      '',
      ...columns([
        ['due', `${due}${ago(oldestDue)}`],
        ['overdue', String(overdue)],
        ...(paused === '' ? [] : [['paused steps', paused]]),
        ['outbox', `${outbox.waiting} waiting${ago(outbox.oldest)}; ${outbox.dead} dead`],
      ]),
    ]);
  },
});
