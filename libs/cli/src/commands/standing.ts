import type { OperatorOptions, PausedStep, ScheduleStatus } from 'nestjs-durable-saga/operators';
import { fromNow, oneLine } from 'nestjs-durable-saga/internal';
import { type CommandAnswer, type Command, did, option, shows } from '../command.js';
import { WHO_OPTIONS, whoOf } from '../operator.js';
import { checkEncoded, type OperatorSession } from '../operator-session.js';
import { sagaCommand } from '../session.js';
import type { Terminal } from '../terminal.js';
import { columns } from '../text/columns.js';
import { statusOn } from '../text/style.js';

/** A process starts a saga at its time. If it is later than this (ms), no process runs the schedule. */
const LATE = 60_000;

const schedules = sagaCommand({
  words: 'schedules',
  operands: [],
  summary: 'Lists the schedules of sagas, with their last and next runs',
  examples: ['saga schedules', 'saga schedules --json'],
  options: {},
  run: async ({ terminal }, { schedules, running }) => {
    const found = await schedules.list();
    const now = running.engine.now();
    return shows(
      found,
      rowsOr('No schedules', found, (one) => scheduleRow(one, now, terminal)),
    );
  },
});

/** So many pauses that are over are listed with --all. */
const MOST_RESUMED = 100;

const pausedSteps = sagaCommand({
  words: 'paused-steps',
  operands: [],
  summary: 'Lists the steps that operators have paused for all sagas of a name',
  examples: ['saga paused-steps', 'saga paused-steps --all --json'],
  options: { all: option.flag(`also the last ${MOST_RESUMED} pauses that are over`) },
  run: async ({ values, terminal }, { operations, running }) => {
    const { items } = await operations.pausedSteps({ resumed: values.all ? MOST_RESUMED : 0 });
    const now = running.engine.now();
    return shows(
      items,
      rowsOr('No paused steps', items, (one) => stepRow(one, now, terminal)),
    );
  },
});

/** A call on the schedule of a saga, or on a step of all sagas of a name. */
interface StandingCall {
  readonly words: string;
  readonly operands: readonly string[];
  readonly summary: string;
  readonly details?: string;
  readonly example: string;
  /** False: who makes the call is not recorded. */
  readonly who?: false;
  readonly call: (
    session: OperatorSession,
    operands: readonly string[],
    who: Pick<OperatorOptions, 'by' | 'reason'>,
  ) => Promise<CommandAnswer>;
}

const CALLS: readonly StandingCall[] = [
  {
    words: 'pause-step',
    operands: ['<saga>', '<step>'],
    summary: 'Pauses a step of all sagas of a name: no attempt of it begins until it is resumed',
    details:
      'Attempts in progress end normally. Compensations, deadlines, timeouts, other branches and operator actions continue.',
    example: 'saga pause-step place-order charge --reason "payments are down"',
    call: async ({ operations }, [saga, step], who) => {
      await operations.pauseStep(saga!, step!, who);
      return did(`Paused step ${step} of ${saga}`);
    },
  },
  {
    words: 'resume-step',
    operands: ['<saga>', '<step>'],
    summary: 'Resumes a paused step: the sagas that wait for it continue',
    example: 'saga resume-step place-order charge',
    call: async ({ operations }, [saga, step], who) => {
      await operations.resumeStep(saga!, step!, who);
      return did(`Resumed step ${step} of ${saga}`);
    },
  },
  {
    words: 'schedule pause',
    operands: ['<saga>'],
    summary: 'Pauses the schedule of a saga: it starts none until it is resumed',
    example: 'saga schedule pause nightly-report --reason "the warehouse is migrated"',
    call: async ({ schedules }, [saga], who) => {
      await schedules.pause(saga!, who);
      return did(`Paused the schedule of ${saga}`);
    },
  },
  {
    words: 'schedule resume',
    operands: ['<saga>'],
    summary: 'Resumes the paused schedule of a saga, from its next time',
    ...{ example: 'saga schedule resume nightly-report', who: false },
    call: async ({ schedules }, [saga]) => {
      await schedules.resume(saga!);
      return did(`Resumed the schedule of ${saga}`);
    },
  },
  {
    words: 'schedule trigger',
    operands: ['<saga>'],
    summary: 'Starts the saga of a schedule now, beside its times',
    details:
      "If the application computes the input of the schedule, this command cannot: use the dashboard, or saga start <saga> '<input>'.",
    ...{ example: 'saga schedule trigger nightly-report', who: false },
    call: async ({ schedules }, [saga]) => {
      const { id } = await schedules.trigger(saga!);
      return did(id, { id });
    },
  },
];

const calls = CALLS.map(({ call, example, who, ...spec }) =>
  sagaCommand<Partial<typeof WHO_OPTIONS>>({
    ...spec,
    ...{ examples: [example], options: who === false ? {} : WHO_OPTIONS },
    run: async ({ operands, values, terminal }, operated) => {
      checkEncoded(operated, values.reason && '--reason');
      return call(operated, operands, whoOf(values, terminal));
    },
  }),
);

/** What stands above single sagas: their schedules, and the steps that are paused for all of them. */
export const standingCommands: readonly Command[] = [pausedSteps, schedules, ...calls];

function rowsOr<T>(none: string, items: readonly T[], row: (item: T) => readonly string[]): string[] {
  return items.length === 0 ? [none] : columns(items.map(row));
}

function scheduleRow(schedule: ScheduleStatus, now: number, terminal: Terminal): string[] {
  const { saga, cron, timezone, next, last, paused, skippedAt } = schedule;
  const isLate = next !== undefined && next.getTime() < now - LATE;
  const skipped = skippedAt ? `, skipped ${fromNow(skippedAt, now)}` : '';
  const status = last?.status ? ` ${statusOn(terminal, last.status)}` : ' ended';
  return [
    saga,
    `${cron} ${timezone}`,
    paused
      ? `${statusOn(terminal, 'paused')} ${fromNow(paused.at, now)}${byWhom(paused.by)}`
      : `next ${fromNow(next!, now)}${isLate ? ', no process runs it' : ''}`,
    last ? `last ${fromNow(last.at, now)} ${last.sagaId}${status}${skipped}` : `never ran${skipped}`,
  ];
}

function stepRow(paused: PausedStep, now: number, terminal: Terminal): string[] {
  const { saga, step, since, by, reason, resumed } = paused;
  const over = resumed ? `resumed ${fromNow(resumed.at, now)}${byWhom(resumed.by, resumed.reason)}` : '';
  return [saga, step, `${statusOn(terminal, 'paused')} ${fromNow(since, now)}${byWhom(by, reason)}`, over];
}

function byWhom(by: string | undefined, reason?: string): string {
  return `${by === undefined ? '' : ` by ${oneLine(by)}`}${reason === undefined ? '' : `: ${oneLine(reason)}`}`;
}
