import { SagaCodecError } from '../../errors.js';
import type { Clock } from '../../shared/clock.js';
import type { EngineLog } from '../ports/engine-log.js';
import type { SagaObservers } from '../observe/saga-observers.js';
import type { SagaStore } from '../ports/saga-store.js';
import { Trouble } from '../observe/trouble.js';

export interface ClaimTroublePorts {
  readonly store: Pick<SagaStore, 'isTransient'>;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly log: EngineLog;
  readonly observers: SagaObservers;
}

/** Claims that fail: while they do, no saga that is due runs here. */
export class ClaimTrouble extends Trouble {
  constructor({ store, clock, log, observers }: ClaimTroublePorts) {
    super(
      {
        isTransient: (error) => store.isTransient(error),
        count: (error) => observers.claimFailed(error),
        ...{ clock, log },
      },
      { what: 'Claiming', meanwhile },
    );
  }
}

/** A claim that returns what this process cannot decode still brings the others. */
function meanwhile(error: unknown): string {
  return error instanceof SagaCodecError
    ? 'The other due sagas run'
    : 'This worker runs no due sagas until a claim succeeds';
}
