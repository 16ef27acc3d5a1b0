import type { StoredSaga } from '../../engine/ports/stored-saga.js';
import type { ServiceParts } from '../assemble-engine.js';
import { remoteOf } from './remote-handlers.js';
import type { SagaSnapshot } from './saga-snapshot.js';
import { toSnapshot } from './to-snapshot.js';

/** By the state that they show: those who watch one saga share them. */
const snapshots = new WeakMap<StoredSaga, Promise<SagaSnapshot>>();

/** A saga as operators and applications see it, with what belongs to it elsewhere. */
export function snapshotOf(saga: StoredSaga, parts: ServiceParts): Promise<SagaSnapshot> {
  const known = snapshots.get(saga);
  const snapshot = known ?? readSnapshot(saga, parts);
  if (!known) snapshots.set(saga, snapshot);
  return snapshot;
}

async function readSnapshot(saga: StoredSaga, parts: ServiceParts): Promise<SagaSnapshot> {
  const { engine, registry } = parts;
  const graph = await engine.graphOf(saga);
  const remote = await remoteOf(saga, graph, parts);
  // Another may run only if no worker has it.
  const isIdle = saga.state.status === 'running' && saga.lockedBy === undefined;
  const pauses = isIdle ? await engine.pausesOf(saga) : [];
  return toSnapshot(saga, {
    ...{ graph, now: engine.now(), pauses },
    ...{ limit: registry.concurrencyOf(saga.name), remote },
  });
}
