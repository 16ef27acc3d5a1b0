import { SagaUnavailableError } from '../errors.js';
import type { EngineCalls } from './engine-calls.js';
import type { ShardHealth } from './shard-health.js';

type Call<Name extends keyof EngineCalls> = EngineCalls[Name];

/** The engine of a shard. Calls fail at once while its database cannot be reached. */
export class GuardedEngine implements EngineCalls {
  constructor(
    private readonly engine: EngineCalls,
    private readonly health: ShardHealth,
  ) {}

  /** A call that waits for a saga continues when the shard can be reached again. It fails when the shard is closed. */
  readonly waiters: EngineCalls['waiters'] = {
    wait: (...given) =>
      this.engine.waiters.wait(...given).catch((error: unknown) => {
        throw this.errorOf(error);
      }),
  };

  /** As waiters. */
  readonly watchers: EngineCalls['watchers'] = {
    watch: (saga, watcher) =>
      this.engine.watchers.watch(saga, {
        changed: (state) => watcher.changed(state),
        failed: (error) => watcher.failed(this.errorOf(error) as Error),
      }),
  };

  readonly submit: Call<'submit'> = (saga) => this.health.guard(() => this.engine.submit(saga));

  /** Not guarded: the transaction of the caller fails by itself. */
  readonly submitWithin: Call<'submitWithin'> = (transaction, saga) =>
    this.engine.submitWithin(transaction, saga);

  readonly signal: Call<'signal'> = (target, signal) =>
    this.health.guard(() => this.engine.signal(target, signal));

  readonly signalWithin: Call<'signalWithin'> = (transaction, target, signal) =>
    this.engine.signalWithin(transaction, target, signal);

  readonly edit: Call<'edit'> = (target, change) => this.health.guard(() => this.engine.edit(target, change));

  readonly graphOf: Call<'graphOf'> = (saga) => this.health.guard(() => this.engine.graphOf(saga));

  readonly load: Call<'load'> = (target) => this.health.guard(() => this.engine.load(target));

  readonly find: Call<'find'> = (filter) => this.health.guard(() => this.engine.find(filter));

  readonly tasks: Call<'tasks'> = (filter) => this.health.guard(() => this.engine.tasks(filter));

  readonly history: Call<'history'> = (target, limit) =>
    this.health.guard(() => this.engine.history(target, limit));

  readonly stats: Call<'stats'> = () => this.health.guard(() => this.engine.stats());

  readonly allSchedules: Call<'allSchedules'> = () => this.health.guard(() => this.engine.allSchedules());

  readonly editSchedule: Call<'editSchedule'> = (saga, change) =>
    this.health.guard(() => this.engine.editSchedule(saga, change));

  readonly trigger: Call<'trigger'> = (graph) => this.health.guard(() => this.engine.trigger(graph));

  readonly stepPauses: Call<'stepPauses'> = (resumed) =>
    this.health.guard(() => this.engine.stepPauses(resumed));

  readonly pausesOf: Call<'pausesOf'> = (saga) => this.health.guard(() => this.engine.pausesOf(saga));

  readonly pauseStep: Call<'pauseStep'> = (step, who) =>
    this.health.guard(() => this.engine.pauseStep(step, who));

  readonly resumeStep: Call<'resumeStep'> = (step, who) =>
    this.health.guard(() => this.engine.resumeStep(step, who));

  now(): number {
    return this.engine.now();
  }

  /** An engine that is stopped because its shard was closed says that the process ends. */
  private errorOf(error: unknown): unknown {
    return error instanceof SagaUnavailableError && !this.health.reachable ? this.health.error : error;
  }
}
