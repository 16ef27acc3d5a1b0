import { type Mutant, specs } from './mutant.js';

/** Mutants of schedules: which ticks start a saga, and when. */
const times = [specs('schedule/read-schedule')];
const decided = [specs('schedule/decide-ticks'), specs('simulation/schedules')];
const locked = [specs('schedule/schedule-ticker')];
const processes = [specs('simulation/schedules')];

export const SCHEDULE_MUTANTS: readonly Mutant[] = [
  {
    name: 'read a cron expression in UTC, whatever the time zone',
    find: "new Cron(cron, { timezone, mode: '5-or-6-parts', paused: true })",
    replace: "new Cron(cron, { timezone: 'UTC', mode: '5-or-6-parts', paused: true })",
    killers: times,
  },
  {
    name: 'take a date for a cron expression',
    find: "if (times.getOnce()) throw new Error('it is a date');",
    replace: '',
    killers: [specs('sagas/schedules/schedules')],
  },
  {
    name: 'start a saga before its tick',
    find: 'if (first > now) return undefined;',
    replace: 'if (first > now + 60_000) return undefined;',
    killers: decided,
  },
  {
    name: 'start the first of the missed ticks in place of the last',
    find: 'for (let later = next(tick); later <= now; later = next(tick)) tick = later;',
    replace: '',
    killers: decided,
  },
  {
    name: 'catch up the ticks of a paused schedule',
    find: 'if (!stored.paused && (!isMissed',
    replace: 'if ((!isMissed',
    killers: decided,
  },
  {
    name: 'catch up ticks of an expression that was not in force',
    find: "return isSameTimes(schedule, stored) ? schedule.catchUp : 'none';",
    replace: 'return schedule.catchUp;',
    killers: decided,
  },
  {
    name: 'decide a tick by what was read before the lock',
    find: 'const due = stored && dueTicks(schedule, stored, now);',
    replace: 'const due = stored && { tick, decidedUntil: Math.max(tick ?? 0, stored.decidedUntil) };',
    killers: locked,
  },
  {
    name: 'start a saga beside one that has not ended, though the schedule skips',
    find: "return schedule.overlap === 'skip' && last?.status !== undefined;",
    replace: "return schedule.overlap === 'skip' && last?.status === 'stuck';",
    killers: processes,
  },
  {
    name: 'advance the schedule and forget to start its saga',
    find: 'return { schedule: { ...decided, last }, start: { ...prepared, leased: false } };',
    replace: 'return { schedule: { ...decided, last } };',
    killers: processes,
  },
  {
    name: 'look at a schedule no more after its first tick',
    find: 'this.dueAt.set(name, schedule.next(known.decidedUntil));',
    replace: 'this.dueAt.set(name, Infinity);',
    killers: processes,
  },
  {
    name: 'start nothing until the clock has come back to where it was set back from',
    find: 'if (stored.decidedUntil - now > SET_BACK) return { decidedUntil: now };',
    replace: '',
    killers: [specs('schedule/schedule-ticker')],
  },
  {
    name: 'look at a schedule when its timer ends, however long the machine has slept',
    find: 'clock.after(Math.min(Math.max(wait, 0), LONGEST_WAIT), () => {\n      this.look();',
    replace: 'clock.after(Math.min(Math.max(wait, 0), 1_000 * LONGEST_WAIT), () => {\n      this.look();',
    killers: [specs('schedule/schedule-ticker')],
  },
  {
    name: 'wait for ever for the input of a schedule',
    find: 'return await Promise.race([input, late]);',
    replace: 'late.catch(() => undefined);\n      return await input;',
    killers: [specs('schedule/schedule-ticker')],
  },
];
