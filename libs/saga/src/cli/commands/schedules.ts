import type { ScheduleStatus } from '../../nest/views/schedule-status.js';
import { fromNow } from '../../shared/duration-text.js';
import { type Command, command, DATABASE_OPTIONS, EXIT, JSON_OPTION, option } from '../command.js';
import { checkEncoded } from '../codec-option.js';
import { BY_OPTION, userOf } from '../operator.js';
import { SAGA_OPTIONS } from '../operator-session.js';
import { operating } from '../session.js';
import { columns } from '../text/columns.js';
import { lookOf, type Paint, paintOn } from '../text/style.js';

/** A process starts a saga at its time. If it is later than this (ms), no process runs the schedule. */
const LATE = 60_000;

export const schedules = command({
  words: 'schedules',
  operands: [],
  summary: 'Lists the schedules of sagas, with their last and next runs',
  examples: ['saga schedules', 'saga schedules --json'],
  options: { ...DATABASE_OPTIONS, ...JSON_OPTION },
  run: async ({ values, terminal }) =>
    operating(values, terminal, async ({ sagas, running }) => {
      const found = await sagas.schedules();
      const lines = () => linesOf(found, running.engine.now(), paintOn(terminal));
      terminal.out(values.json ? JSON.stringify(found, undefined, 2) : lines().join('\n'));
      return EXIT.done;
    }),
});

const pause = command({
  words: 'schedule pause',
  operands: ['<saga>'],
  summary: 'Pauses the schedule of a saga: it starts none until it is resumed',
  examples: ['saga schedule pause nightly-report --reason "the warehouse is migrated"'],
  options: {
    ...SAGA_OPTIONS,
    ...JSON_OPTION,
    ...BY_OPTION,
    reason: option.text('<text>', 'the reason, which is shown with the schedule'),
  },
  run: async ({ operands: [saga], values, terminal }) => {
    const { by = userOf(terminal), reason } = values;
    return operating(values, terminal, async (operated) => {
      checkEncoded(operated, reason && '--reason');
      const options = { ...(by !== undefined && { by }), ...(reason !== undefined && { reason }) };
      await operated.sagas.pauseSchedule(saga!, options);
      terminal.out(values.json ? JSON.stringify({ done: true }) : `Paused the schedule of ${saga}`);
      return EXIT.done;
    });
  },
});

const resume = command({
  words: 'schedule resume',
  operands: ['<saga>'],
  summary: 'Resumes the paused schedule of a saga, from its next time',
  examples: ['saga schedule resume nightly-report'],
  options: { ...SAGA_OPTIONS, ...JSON_OPTION },
  run: async ({ operands: [saga], values, terminal }) =>
    operating(values, terminal, async ({ sagas }) => {
      await sagas.resumeSchedule(saga!);
      terminal.out(values.json ? JSON.stringify({ done: true }) : `Resumed the schedule of ${saga}`);
      return EXIT.done;
    }),
});

const trigger = command({
  words: 'schedule trigger',
  operands: ['<saga>'],
  summary: 'Starts the saga of a schedule now, beside its times',
  details:
    "If the application computes the input of the schedule, this command cannot: use the dashboard, or saga start <saga> '<input>'.",
  examples: ['saga schedule trigger nightly-report'],
  options: { ...SAGA_OPTIONS, ...JSON_OPTION },
  run: async ({ operands: [saga], values, terminal }) =>
    operating(values, terminal, async ({ sagas }) => {
      const { id } = await sagas.trigger(saga!);
      terminal.out(values.json ? JSON.stringify({ id }) : id);
      return EXIT.done;
    }),
});

export const scheduleCommands: readonly Command[] = [schedules, pause, resume, trigger];

function linesOf(found: readonly ScheduleStatus[], now: number, paint: Paint): string[] {
  if (found.length === 0) return ['No schedules'];
  return columns(found.map((one) => rowOf(one, now, paint)));
}

function rowOf(schedule: ScheduleStatus, now: number, paint: Paint): string[] {
  const { saga, cron, timezone, next, last, paused, skippedAt } = schedule;
  const isLate = next !== undefined && next.getTime() < now - LATE;
  const skipped = skippedAt ? `, skipped ${fromNow(skippedAt, now)}` : '';
  const status = last?.status ? ` ${paint(lookOf(last.status), last.status)}` : ' ended';
  return [
    saga,
    `${cron} ${timezone}`,
    paused
      ? `${paint(lookOf('paused'), 'paused')} ${fromNow(paused.at, now)}${paused.by ? ` by ${paused.by}` : ''}`
      : `next ${fromNow(next!, now)}${isLate ? ', no process runs it' : ''}`,
    last ? `last ${fromNow(last.at, now)} ${last.sagaId}${status}${skipped}` : `never ran${skipped}`,
  ];
}
