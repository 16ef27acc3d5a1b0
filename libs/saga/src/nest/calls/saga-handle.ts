import type { EngineCalls } from '../../shards/engine-calls.js';
import { TURN_BUDGET } from '../../shared/turn-budget.js';
import { toOutcome } from '../views/to-snapshot.js';
import { readTimeout, type SagaHandle } from './saga-calls.js';

/** @param isUncommitted the transaction that started it is open */
export function sagaHandle<S>(
  id: string,
  created: boolean,
  engine: Pick<EngineCalls, 'waiters'>,
  isUncommitted?: () => boolean,
): SagaHandle<S> {
  return {
    id,
    created,
    outcome: async (options) => {
      const settled = await engine.waiters.wait(id, readTimeout('outcome', options), isUncommitted);
      if (TURN_BUDGET.isSpent) await TURN_BUDGET.nextTurn();
      return toOutcome<S>(settled);
    },
  };
}
