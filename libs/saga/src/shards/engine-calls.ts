import type { StoredSummary, StoreFilter } from '../engine/ports/saga-store.js';
import type { SagaEngine } from '../engine/saga-engine.js';
import type { OutcomeWaiters } from '../engine/worker/outcome-waiters.js';

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
  find(filter: StoreFilter): Promise<FoundSagas>;
};

/** `unreachable`: the shards whose sagas are missing. */
export type FoundSagas = readonly StoredSummary[] & { readonly unreachable?: readonly string[] };
