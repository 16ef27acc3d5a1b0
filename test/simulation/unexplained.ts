import type { SagaGraph } from '../../libs/saga/src/definition/graph/saga-graph.js';
import { findUnexplained } from '../../libs/saga/src/nest/maintenance/find-unexplained.js';
import type { Database } from './database.js';
import type { InvariantChecker } from './invariant-checker.js';

/** I19, of what is stored in the end: a saga that is neither ended nor due waits for something that could still come. */
export async function checkUnexplained(
  { store }: Database,
  checker: InvariantChecker,
  sagas: readonly { readonly graph: SagaGraph }[],
): Promise<void> {
  const graphs = new Map(sagas.map(({ graph }) => [graph.name, graph]));
  const found = await findUnexplained({ store, graphOf: ({ name }) => graphs.get(name) });
  for (const { id, problem } of found) checker.violate('I19', `${id} ${problem}`);
}
