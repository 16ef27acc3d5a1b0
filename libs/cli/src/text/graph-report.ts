import {
  type GraphReader,
  type RunnableSaga,
  type SagaVersion,
  sagaLabel,
} from 'nestjs-durable-saga/internal';
import {
  type EngineSql,
  PostgresGraphStore,
  countsOf,
  driftOf,
  expectedMoves,
} from 'nestjs-durable-saga/internal/runtime';

/** What deploying a version of a saga would mean. */
export interface SagaReport {
  /** `name@version` */
  readonly label: string;
  readonly finding: 'new' | 'unchanged' | 'changed' | 'gone';
  readonly lines: readonly string[];
  /** Running instances that could not go on, and those that could, of what is not as it was. */
  readonly affected: number;
  readonly unaffected: number;
}

/** Compares these sagas with the graphs that the schema has stored, in one transaction. */
export function reportOnDatabase(
  sagas: readonly RunnableSaga[],
  sql: EngineSql,
  schema: string,
): Promise<SagaReport[]> {
  return new PostgresGraphStore(sql, schema).reading((reader) => reportOf(sagas, reader));
}

/** Reports each of these sagas, and the stored versions of theirs that are not among them. */
async function reportOf(sagas: readonly RunnableSaga[], graphs: GraphReader): Promise<SagaReport[]> {
  const reports: SagaReport[] = [];
  const isThere = ({ name, version }: SagaVersion) =>
    sagas.some(({ graph }) => graph.name === name && graph.version === version);
  const sorted = [...sagas].sort((a, b) => (sagaLabel(a.graph) < sagaLabel(b.graph) ? -1 : 1));
  for (const saga of sorted) reports.push(await reportOfSaga(saga, graphs, isThere));
  const movedFrom = new Set(
    sagas.flatMap(({ graph }) =>
      (graph.upgradeFrom ?? []).map((version) => sagaLabel({ ...graph, version })),
    ),
  );
  const stored = await graphs.stored(
    [...new Set(sagas.map(({ graph }) => graph.name))].map((name) => ({ name })),
  );
  const gone = new Map(
    stored
      .filter((graph) => !isThere(graph) && !movedFrom.has(sagaLabel(graph)))
      .map((g) => [sagaLabel(g), g]),
  );
  for (const saga of gone.values()) reports.push(...(await reportOfGone(saga, graphs)));
  return reports;
}

async function reportOfSaga(
  saga: RunnableSaga,
  graphs: GraphReader,
  isThere: (saga: SagaVersion) => boolean,
): Promise<SagaReport> {
  const label = sagaLabel(saga.graph);
  const revisions = await graphs.stored([saga.graph]);
  const isNew = revisions.length === 0;
  const drift = await driftOf(saga, revisions, graphs);
  const lines: string[] = [];
  let [affected, unaffected] = [0, 0];
  if (drift) {
    ({ affected, unaffected } = drift);
    lines.push(...drift.differences, ...drift.hints.map((hint) => `possible rename: ${hint}`));
    lines.push(`running instances: ${countsOf(drift)}`);
    lines.push(...drift.problems.map(({ id, problem }) => `affected, for example ${id}: ${problem}`));
  }
  for (const { from, moving, staying, reasons } of await expectedMoves(saga.graph, graphs)) {
    const stay = isThere({ name: saga.graph.name, version: from });
    lines.push(
      `from version ${from}: ${moving} would move, ${staying} would stay${stay || staying === 0 ? '' : ', and no worker would have their version'}`,
      ...reasons.map(({ id, problem }) => `stays, ${id}: ${problem}`),
    );
    unaffected += moving + (stay ? staying : 0);
    affected += stay ? 0 : staying;
  }
  return { label, finding: isNew ? 'new' : drift ? 'changed' : 'unchanged', lines, affected, unaffected };
}

/** A version that is deployed now, and is not among what would be. */
async function reportOfGone(saga: SagaVersion, graphs: GraphReader): Promise<SagaReport[]> {
  let affected = 0;
  await graphs.eachUnfinished(saga, (batch) => (affected += batch.length));
  if (affected === 0) return [];
  const lines = [
    `running instances: ${affected}, and no worker would have their version; keep its class, or set upgradeFrom: ${saga.version}`,
  ];
  return [{ label: sagaLabel(saga), finding: 'gone', lines, affected, unaffected: 0 }];
}
