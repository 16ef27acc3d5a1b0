import { bindGraph } from '../../definition/describe/bind-graph.js';
import type { SagaGraph } from '../../definition/graph/saga-graph.js';
import { graphUnknownHere } from '../../engine/ports/handler-calls.js';
import { awaitedBy } from '../../machine/sub-sagas.js';
import type { StoredSaga } from '../../engine/ports/stored-saga.js';
import type { SnapshotContext } from './waiting-for.js';
import type { ServiceParts } from '../assemble-engine.js';

/** The saga of the handler that a saga waits for. */
export async function remoteOf(
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
