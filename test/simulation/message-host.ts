import type { EntityManager } from 'typeorm';
import type { EngineLog } from '../../libs/saga/src/engine/ports/engine-log.js';
import type { Dice } from './rng.js';
import type { SimulatedClock } from './simulated-clock.js';
import type { SendOptions } from './simulated-store.js';
import type { Life } from './timeline.js';

/** A process, as far as messages go. */
export interface MessageHost {
  readonly name: string;
  readonly life: Life;
  readonly clock: SimulatedClock;
  readonly dice: Dice;
  readonly log: EngineLog;
  /** It asks something of the world; false: it died before it could. */
  readonly call: () => boolean;
  /** To the database and back. */
  readonly send: <T>(execute: () => Promise<T>, options?: SendOptions) => Promise<T>;
  /** Starts a saga in the transaction of this manager. */
  readonly start: (manager: EntityManager, id: string) => Promise<void>;
}
