import { type Mutant, specs } from './mutant.js';

const hooks = [specs('messages-and-hooks', 'life-cycle/hooks')];

/** Start, shutdown, and waits for sagas meanwhile. */
export const LIFE_CYCLE_MUTANTS: readonly Mutant[] = [
  {
    name: 'drain where Nest destroys global modules: last',
    find: 'module.distance = BELOW_EVERY_MODULE;',
    replace: 'module.distance = -BELOW_EVERY_MODULE;',
    killers: hooks,
  },
  {
    name: 'start what was closed while its hooks were called',
    find: 'if (this.isEnding) return;',
    replace: '',
    killers: hooks,
  },
  {
    name: 'run sagas in a worker that was closed before it started',
    find: "if (this.state !== 'new') return;",
    replace: '',
    killers: [specs('worker/retiring')],
  },
  {
    name: 'stop the parts of an engine while they start',
    find: 'await this.started?.catch(() => undefined);',
    replace: '',
    killers: [specs('worker/retiring')],
  },
  {
    name: 'let providers close under handlers and observers that are in progress',
    find: 'await this.work.settledWithin(until - performance.now());',
    replace: '',
    killers: hooks,
  },
  {
    name: 'handle messages while providers close',
    find: 'if (this.lifeCycle?.isEnding) return from(refused(native, message));',
    replace: '',
    killers: hooks,
  },
  {
    name: 'leave a start that has a lease behind while draining',
    find: 'await this.reserved.none();',
    replace: '',
    killers: [specs('shutdown', 'life-cycle/hooks')],
  },
  {
    name: 'leave who waits for a saga waiting when the process shuts down',
    find: 'this.waiters.close();',
    replace: '',
    killers: [specs('life-cycle/waiting')],
  },
  {
    name: 'start a wait in a closed engine',
    find: 'if (this.closed) for (const id of ids) this.reject(id, closing(id));',
    replace: '',
    killers: [specs('outcome-waiters')],
  },
  {
    name: 'wait for ever for a saga that does not exist',
    find: 'void this.rejectMissing(ids.filter((id) => !this.isUncommitted(id)));',
    replace: '',
    killers: [specs('outcome-waiters')],
  },
  {
    name: 'take a saga that is not committed yet for one that does not exist',
    find: 'ids.filter((id) => !this.isUncommitted(id))',
    replace: 'ids',
    killers: [specs('outcome-waiters')],
  },
  {
    name: 'let a fenced run take the place of the run that follows it',
    find: 'if (this.runs.get(run.id) === run) this.runs.delete(run.id);',
    replace: 'this.runs.delete(run.id);',
    killers: [specs('engine/leases')],
  },
];
