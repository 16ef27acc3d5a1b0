import type { StoredSaga } from '../../engine/ports/stored-saga.js';
import type { ServiceParts, ServiceRuntime } from '../assemble-engine.js';
import { notFound, type SagaTarget, toTarget } from './saga-calls.js';

/** A saga as it is stored, and the parts of the process that read it. */
export interface LoadedSaga {
  readonly saga: StoredSaga;
  readonly parts: ServiceParts;
}

/** @throws SagaNotFoundError */
export async function loadSaga(runtime: ServiceRuntime, target: SagaTarget): Promise<LoadedSaga> {
  const parts = await runtime.ready();
  const saga = await parts.engine.load(toTarget(target, parts.registry));
  if (!saga) throw notFound(target);
  return { saga, parts };
}
