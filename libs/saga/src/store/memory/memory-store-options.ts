import type { EntityManager } from '../../definition/types/entity-manager.js';
import type { MemoryWakeup } from './memory-wakeup.js';

export interface MemorySagaStoreOptions {
  /** The store's clock, milliseconds since the epoch; default: Date.now. Give your own for virtual time. */
  readonly now?: () => number;
  /** Where the store announces what happened. Default: no process receives it. */
  readonly wakeup?: MemoryWakeup;
  /** What transactional steps are given as `ctx.manager`; default: undefined. */
  readonly manager?: EntityManager;
}
