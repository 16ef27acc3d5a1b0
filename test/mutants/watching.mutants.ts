import { type Mutant, simulation, specs } from './mutant.js';

const watchers = [specs('saga-watchers')];
/** The simulation has steps with heartbeats, and without. */
const simulated = simulation(60);
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
    find: 'const due = (attempt.beatAt ?? -Infinity) + interval;',
    replace: 'const due = (attempt.beatAt === undefined ? 0 : -Infinity) + interval;',
    killers: [simulated, specs('bound-attempt')],
  },
  {
    name: 'ask for heartbeats of a compensation',
    find: "return this.action.kind === 'run' ? this.action.node.heartbeat : undefined;",
    replace: "return this.action.kind === 'probe' ? undefined : this.action.node.heartbeat;",
    killers: [simulated, specs('bound-attempt')],
  },
  {
    name: 'give the details of a round to the next one',
    find: 'return report?.round === round ? report : undefined;',
    replace: 'return report && round > 0 ? report : undefined;',
    killers: [simulated, specs('run-reports')],
  },
  {
    name: 'record an interrupted attempt before its last heartbeat is stored',
    find: 'return this.hasUnsavedReports ? this.storeReports() : undefined;',
    replace: 'return undefined;',
    killers: [specs('lease-reports')],
  },
  {
    name: 'go on with an attempt that sends no heartbeat',
    find: 'if (due > clock.monotonic()) expectBeat(due, interval);',
    replace: 'if (due < Infinity) expectBeat(Math.max(due, clock.monotonic() + 1_000), interval);',
    killers: [simulated, specs('bound-attempt')],
  },
  {
    name: 'send reports while older ones are on their way',
    find: 'if (!this.hasNews || this.sent) return undefined;',
    replace: 'if (!this.hasNews) return undefined;',
    killers: [simulated, specs('run-reports')],
  },
  {
    name: 'record a failure while the details of its attempt are on their way',
    find: 'return this.reported !== undefined && !this.reported.isStored;',
    replace: 'return this.reported?.hasNews ?? false;',
    killers: [simulated, specs('lease-reports')],
  },
  {
    name: 'forget the details of steps that are in progress with each checkpoint',
    find: "const isOver = status === 'compensated' || (kind === 'step' && status === 'completed');",
    replace: "const isOver = status !== 'failed' || kind !== 'step';",
    killers: [simulated, specs('run-reports')],
  },
  {
    name: 'store the reports of transactional steps as soon as those of others',
    find: 'this.isUrgent ||= isUrgent;',
    replace: 'this.isUrgent ||= isUrgent || this.hasNews;',
    killers: [specs('lease-reports')],
  },
  {
    name: 'lose the last details of an attempt that fails',
    find: 'if (this.run.hasUnsavedReports && outcome && !Array.isArray(outcome) && isFailure(outcome))',
    replace: 'if (this.run.hasUnsavedReports && outcome && !Array.isArray(outcome) && !isFailure(outcome))',
    killers: [simulated, specs('lease-reports')],
  },
  {
    name: 'lose the last details of an attempt whose result is refused',
    in: 'SagaRun.unstorable',
    find: 'await this.storeReports();',
    replace: '',
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
    find: "return kind === 'step' ? step : `${step}${OF_COMPENSATION}`;",
    replace: 'return kind ? step : `${step}${OF_COMPENSATION}`;',
    killers: heartbeats,
  },
];
