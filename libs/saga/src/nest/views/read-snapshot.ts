import type { StoredSaga } from '../../engine/ports/stored-saga.js';
import type { ServiceParts } from '../assemble-engine.js';
import type { SagaSnapshot } from './saga-snapshot.js';
import { toSnapshot } from './to-snapshot.js';
import { bindGraph } from '../../definition/describe/bind-graph.js';
import type { SagaGraph } from '../../definition/graph/saga-graph.js';
import { graphUnknownHere } from '../../engine/ports/handler-calls.js';
import { awaitedBy } from '../../machine/sub-sagas.js';
import type { SnapshotContext } from './waiting-for.js';

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
    ...{ limit: registry.limitOf(saga.name), remote },
  });
}

/** The saga of the handler that a saga waits for. */
async function remoteOf(
  { state }: StoredSaga,
  graph: SagaGraph | undefined,
  { engine, graphs }: ServiceParts,
): Promise<SnapshotContext['remote']> {
  const [awaited] = awaitedBy(state);
  if (!awaited || !graph?.steps.get(awaited.step)?.remote) return undefined;
  const saga = await engine.load({ id: awaited.id });
  return saga && { saga, deployed: (await graphs.stored([saga])).length > 0 };
}

/** The graph of a handler that other processes have, as they have stored it. */
export async function handlerGraphOf(
  saga: StoredSaga,
  { graphs }: ServiceParts,
): Promise<SagaGraph | undefined> {
  const known = graphUnknownHere(saga);
  const revisions = known ? await graphs.stored([saga]) : [];
  const stored = revisions.find(({ revision }) => revision === saga.graphRevision) ?? revisions.at(-1);
  return known && stored && bindGraph(stored.graph, { graph: known, methods: new Set() }).graph;
}
