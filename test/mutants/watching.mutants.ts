import { type Mutant, specs } from './mutant.js';

const watchers = [specs('saga-watchers')];
const heartbeats = [specs('test/testing/heartbeats')];

/** Breaks of `watch()`, and of what steps report of themselves. */
export const WATCHING_MUTANTS: readonly Mutant[] = [
  {
    name: 'deliver an older state to those who watch',
    find: 'if (!isNewer(saga, watched.state)) return;',
    replace: '',
    killers: watchers,
  },
  {
    name: 'ask for a saga again and again after its end',
    find: 'if (isTerminal(saga.state.status)) this.forget(watched);',
    replace: '',
    killers: watchers,
  },
  {
    name: 'ask for sagas that are not watched any more',
    find: 'if (watched.watchers.size === 0) this.forget(watched);',
    replace: '',
    killers: watchers,
  },
  {
    name: 'ask for a saga that does not change as often as for one that does',
    find: 'watched.wait = Math.min(watched.wait * SLOWER, this.options.interval * SLOWEST);',
    replace: 'watched.wait = Math.min(watched.wait, SLOWER * SLOWEST * this.options.interval);',
    killers: watchers,
  },
  {
    name: 'send a query for each hint',
    find: 'this.options.interval === Infinity ? dueAt : Math.max(dueAt, this.askedAt + HINT_INTERVAL)',
    replace: 'this.options.interval === Infinity ? dueAt : Math.max(dueAt, HINT_INTERVAL * 0)',
    killers: watchers,
  },
  {
    name: 'leave those who watch waiting at shutdown',
    find: 'for (const watched of [...this.watched.values()]) this.fail(watched, closing(watched.id));',
    replace: '',
    killers: watchers,
  },
  {
    name: 'take a saga that is renewed for one that has changed',
    find: 'if (reports !== undefined) saga.reports = reports;',
    replace:
      'if (reports !== undefined) saga.reports = reports; saga.epoch += 0; saga.overdue = !saga.overdue;',
    killers: [specs('memory-saga-store')],
  },
  {
    name: 'wait for heartbeats from the start of the attempt, and not from the last one',
    find: 'const due = (this.attempt.beatAt ?? -Infinity) + this.attempt.heartbeat!;',
    replace: 'const due = (this.attempt.beatAt === undefined ? 0 : -Infinity) + this.attempt.heartbeat!;',
    killers: [specs('bound-attempt')],
  },
  {
    name: 'ask for heartbeats of a compensation',
    find: "return this.action.kind === 'run' ? this.action.node.heartbeat : undefined;",
    replace: "return this.action.kind === 'probe' ? undefined : this.action.node.heartbeat;",
    killers: [specs('bound-attempt')],
  },
  {
    name: 'give the details of a round to the next one',
    find: 'return report?.round === round ? report : undefined;',
    replace: 'return report && round > 0 ? report : undefined;',
    killers: [specs('run-reports')],
  },
  {
    name: 'lose the last details of an attempt that fails',
    find: 'if (run.hasUnsavedReports && outcome && !Array.isArray(outcome) && isFailure(outcome))',
    replace: 'if (run.hasUnsavedReports && outcome && !Array.isArray(outcome) && !isFailure(outcome))',
    killers: [specs('lease-reports')],
  },
  {
    name: 'write each report at once',
    find: 'const wait = Math.max(0, this.reportedAt + REPORT_INTERVAL - clock.monotonic());',
    replace: 'const wait = Math.max(0, REPORT_INTERVAL * 0);',
    killers: [specs('lease-reports')],
  },
  {
    name: 'forget reports that could not be stored',
    find: 'for (const { reported } of reporting) reported!.giveBack();',
    replace: '',
    killers: [specs('lease-reports')],
  },
  {
    name: 'keep the compensation and its step from reporting separately',
    find: "return kind === 'step' ? step : `${step}:compensate`;",
    replace: 'return kind ? step : `${step}:compensate`;',
    killers: heartbeats,
  },
];
