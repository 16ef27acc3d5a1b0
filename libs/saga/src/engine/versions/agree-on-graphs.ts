import { bindGraph } from '../../definition/describe/bind-graph.js';
import { diffGraphs } from '../../definition/describe/diff-graphs.js';
import {
  describedRecordOf,
  type GraphRecord,
  type OperatorRules,
  recordOf,
} from '../../definition/describe/graph-record.js';
import { sagaLabel } from '../../definition/graph/saga-graph.js';
import { SagaDriftError } from '../../errors.js';
import { missingCode } from '../../machine/missing-code.js';
import { adoptsGraph } from '../ports/live-state.js';
import type { EngineLog } from '../ports/engine-log.js';
import type {
  GraphReader,
  GraphStore,
  GraphWriter,
  SagaVersion,
  StoredGraph,
  UnfinishedSaga,
} from '../ports/graph-store.js';
import type { RunnableSaga } from '../ports/invoker.js';
import { deployedOf } from './saga-bindings.js';

/** A graph that differs from the newest that is stored of its version. */
export interface Drift {
  readonly saga: RunnableSaga;
  readonly differences: readonly string[];
  readonly hints: readonly string[];
  /** The unfinished instances that may need what the code does not have. */
  readonly affected: number;
  readonly unaffected: number;
  /** What the first of those affected lack, each once. */
  readonly problems: readonly { readonly problem: string; readonly id: string }[];
}

/** Problems named for a saga; instances at one step have one problem. */
const PROBLEMS_NAMED = 5;

/**
 * Stores the graph of each saga that is new, and finds those whose graph has changed and whose version has not.
 * Where instances of such a version are running, they keep the graph that they have; those that nothing has begun of adopt
 * the deployed one. If one of them may need what the code does not have, nothing is changed, unless `onDrift` is `warn`, or
 * an operator has accepted the change. However many processes start at one moment, one after the other looks and stores.
 * @throws SagaDriftError when `onDrift` is `error`
 */
export async function agreeOnGraphs(
  sagas: readonly RunnableSaga[],
  store: GraphStore,
  onDrift: 'error' | 'warn',
  log: EngineLog,
  /** Stored beside the graphs, for those who operate sagas from elsewhere. */
  operators?: OperatorRules,
): Promise<void> {
  // Nearly always all is as it was: one look, and no lock.
  const records = new Map(sagas.map((saga) => [saga, describedRecordOf(saga.graph, operators)]));
  if ((await differing(records, store)).size === 0) return;
  await store.exclusively(async (graphs) => {
    const drifts: Drift[] = [];
    const refused: Drift[] = [];
    for (const [saga, revisions] of await differing(records, graphs)) {
      const drift = await driftOf(saga, revisions, graphs);
      if (drift && drift.affected + drift.unaffected > 0) {
        const isRefused = drift.affected > 0 && onDrift === 'error' && !(await graphs.isAccepted(saga.graph));
        (isRefused ? refused : drifts).push(drift);
      }
      await storeGraph(saga.graph, records.get(saga)!, graphs, revisions.at(-1)?.revision, drift);
    }
    if (refused.length > 0)
      throw new SagaDriftError(refused.map((drift) => textOf(drift, mendOf(drift))).join('\n'));
    for (const drift of drifts)
      log.warn(textOf(drift, drift.affected > 0 ? `${CONSEQUENCE}. ${OF_AFFECTED}` : CONSEQUENCE));
  });
}

/** The sagas of which another graph is stored as the newest, or none, each with its stored revisions. */
async function differing(
  records: ReadonlyMap<RunnableSaga, GraphRecord>,
  graphs: Pick<GraphReader, 'stored'>,
): Promise<ReadonlyMap<RunnableSaga, readonly StoredGraph[]>> {
  const revisions = new Map<string, StoredGraph[]>();
  for (const stored of await graphs.stored([...records.keys()].map(({ graph }) => graph))) {
    const before = revisions.get(sagaLabel(stored));
    if (before) before.push(stored);
    else revisions.set(sagaLabel(stored), [stored]);
  }
  const all = [...records.keys()].map((saga) => [saga, revisions.get(sagaLabel(saga.graph)) ?? []] as const);
  return new Map(all.filter(([saga, stored]) => !isNewest(records.get(saga)!, stored.at(-1))));
}

/**
 * Undefined: nothing is stored of it, or the same.
 * @param revisions what is stored of it, the oldest first
 */
export async function driftOf(
  saga: RunnableSaga,
  revisions: readonly StoredGraph[],
  graphs: Pick<GraphReader, 'eachUnfinished'>,
): Promise<Drift | undefined> {
  const newest = revisions.at(-1);
  if (!newest) return undefined;
  const { differences, hints } = diffGraphs(newest.graph, recordOf(saga.graph));
  if (differences.length === 0) return undefined;
  const bound = new Map(
    revisions.map(({ revision, graph }) => [revision, bindGraph(graph, deployedOf(saga))]),
  );
  let [affected, unaffected] = [0, 0];
  const problems = new Map<string, string>();
  /** Counts whether an instance can go on under the graph that it started with. */
  const count = (instance: UnfinishedSaga): void => {
    const { id, graphRevision, state } = instance;
    const kept = bound.get(graphRevision ?? newest.revision);
    const missing = kept && missingCode(kept, state);
    if (adoptsGraph(instance) || missing?.length === 0) {
      unaffected += 1;
      return;
    }
    affected += 1;
    for (const { problem } of missing ?? [])
      if (problems.size < PROBLEMS_NAMED && !problems.has(problem)) problems.set(problem, id);
  };
  await graphs.eachUnfinished(saga.graph, (batch) => batch.forEach(count));
  const named = [...problems].map(([problem, id]) => ({ problem, id }));
  return { saga, differences, hints, affected, unaffected, problems: named };
}

function isNewest(record: GraphRecord, newest: StoredGraph | undefined): boolean {
  return newest !== undefined && JSON.stringify(newest.graph) === JSON.stringify(record);
}

async function storeGraph(
  saga: SagaVersion,
  record: GraphRecord,
  graphs: GraphWriter,
  newest: number | undefined,
  drift: Drift | undefined,
): Promise<void> {
  const { name, version } = saga;
  if (drift && newest !== undefined) await graphs.keep(saga, newest);
  // The same structure may have another text: then the row is to say how the code has it now.
  const revision = drift ? newest! + 1 : (newest ?? 1);
  await graphs.put({ name, version, revision, graph: record });
}

function mendOf({ saga }: Drift): string {
  return (
    'Raise its version (and set upgradeFrom to move the running instances). Or let them keep the graph that they have: ' +
    `run 'saga graph accept ${sagaLabel(saga.graph)}', set SAGA_ON_DRIFT=warn, or set SagaModule.forRoot({ onDrift: 'warn' })`
  );
}

const CONSEQUENCE =
  'They keep the graph that they have. Those of which nothing has begun adopt the deployed one';
const OF_AFFECTED = 'The affected ones will be stuck when a worker runs them';

/** "3 affected, 2 not". */
export function countsOf({ affected, unaffected }: Pick<Drift, 'affected' | 'unaffected'>): string {
  return `${affected} affected, ${unaffected} not`;
}

function textOf(drift: Drift, ending: string): string {
  const { saga, differences, hints, affected, unaffected, problems } = drift;
  const sentences = [
    `The graph of ${sagaLabel(saga.graph)} has changed, but its version has not: ${differences.join('; ')}`,
    ...hints.map((hint) => `Possible rename: ${hint}`),
    `Running instances: ${affected + unaffected}, ${countsOf(drift)}`,
    ...problems.map(({ problem, id }) => `Affected, for example ${id}: ${problem}`),
    ending,
  ];
  return `${sentences.join('. ')}.`;
}
