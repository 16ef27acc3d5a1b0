import type { StoredSummary, StoreFilter } from '../engine/ports/saga-store.js';
import type { StoredTask, StoreTaskFilter } from '../engine/ports/stored-task.js';
import type { StoredStepPause } from '../engine/ports/step-pause.js';
import type { SagaEngine } from '../engine/saga-engine.js';
import type { OutcomeWaiters } from '../engine/worker/outcome-waiters.js';
import type { SagaWatchers } from '../engine/worker/saga-watchers.js';

/** The calls of an engine that SagaService makes. */
export type EngineCalls = Pick<
  SagaEngine,
  | 'submit'
  | 'submitWithin'
  | 'signal'
  | 'signalWithin'
  | 'edit'
  | 'graphOf'
  | 'load'
  | 'history'
  | 'stats'
  | 'allSchedules'
  | 'editSchedule'
  | 'trigger'
  | 'pausesOf'
  | 'pauseStep'
  | 'resumeStep'
  | 'now'
> & {
  stepPauses(resumed: number): Promise<FoundPauses>;
  readonly waiters: Pick<OutcomeWaiters, 'wait'>;
  readonly watchers: Pick<SagaWatchers, 'watch'>;
  find(filter: StoreFilter): Promise<Found<StoredSummary>>;
  tasks(filter: StoreTaskFilter): Promise<Found<StoredTask>>;
};

/** `unreachable`: the shards whose items are missing. */
export type Found<T> = readonly T[] & { readonly unreachable?: readonly string[] };

export type FoundSagas = Found<StoredSummary>;

/** `unreachable`: the shards whose pauses are missing. */
export type FoundPauses = Found<StoredStepPause>;
