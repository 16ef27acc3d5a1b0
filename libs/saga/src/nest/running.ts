import type { ServiceParts } from './assemble-engine.js';
import type { WaitingProcess } from './calls/early-waits.js';
import type { EngineRuntime } from './engine-runtime.js';
import type { ReadRates } from './standby-reads.js';

/** What a process that runs uses, and its part in the life of the application. */
export interface Running extends ServiceParts {
  /** Asks for the outcome of sagas over time. */
  readonly rates: ReadRates;
  /** The engines over its databases. */
  readonly process: ProcessRuntime;
}

/** The engines of a process in the life of the application. */
export type ProcessRuntime = Pick<EngineRuntime, 'begin' | 'tick' | 'drain' | 'retire' | 'close'> &
  WaitingProcess;
