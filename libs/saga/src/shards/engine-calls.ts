import type { StoredSummary, StoreFilter } from '../engine/ports/saga-store.js';
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
  | 'now'
> & {
  readonly waiters: Pick<OutcomeWaiters, 'wait'>;
  readonly watchers: Pick<SagaWatchers, 'watch'>;
  find(filter: StoreFilter): Promise<FoundSagas>;
};

/** `unreachable`: the shards whose sagas are missing. */
export type FoundSagas = readonly StoredSummary[] & { readonly unreachable?: readonly string[] };
