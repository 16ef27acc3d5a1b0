import { SagaLockDeadlockError } from '../../errors.js';
import type { SagaEvent } from '../../machine/saga-event.js';
import type { LockDeadlock, StoredSaga } from '../ports/stored-saga.js';
import { serializeError } from '../payload/serialize-error.js';

/** The saga is to fail, since it would wait for its semantic lock for ever. */
export function deadlocked({ id, name }: StoredSaga, { key, holder, held }: LockDeadlock): SagaEvent {
  const { stack: _, ...error } = serializeError(
    new SagaLockDeadlockError(
      `Saga ${id} (${name}) cannot wait for lock '${key}': saga ${holder.id} (${holder.name}) holds it, and waits, ` +
        `directly or through others, for lock '${held.key}' of saga ${held.id} (${held.name}), which waits for this ` +
        `saga. Start sagas that need several locks so that they acquire them in the same order, or start them again.`,
    ),
  );
  return { type: 'deadlocked', error };
}
