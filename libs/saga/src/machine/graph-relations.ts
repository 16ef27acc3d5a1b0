import { type SagaGraph, startsSaga } from '../definition/graph/saga-graph.js';

/** What follows from a graph alone; computed once for each. */
interface Relations {
  readonly hasJoinAny: boolean;
  /** Some step is optional: the saga continues if it fails. */
  readonly hasOptional: boolean;
  readonly hasSubSagas: boolean;
  /** Some step waits for a signal, or for an operator. */
  readonly hasWaits: boolean;
  /** Some step waits for an operator. */
  readonly hasApprovals: boolean;
  /** Some step has a limit over all sagas. */
  readonly hasSlots: boolean;
  readonly pivots: readonly string[];
  /** In topological order. */
  readonly savepoints: readonly string[];
  /** Their names, as the row of a saga that has not begun shows them. */
  readonly firstSteps: string;
  /** The place of each step in topological order, from 0. */
  readonly places: ReadonlyMap<string, number>;
  readonly descendants: Map<string, ReadonlySet<string>>;
}

const RELATIONS = new WeakMap<SagaGraph, Relations>();

export function relationsOf(graph: SagaGraph): Relations {
  let relations = RELATIONS.get(graph);
  if (!relations) {
    const nodes = [...graph.steps.values()];
    relations = {
      hasJoinAny: nodes.some((node) => node.join === 'any' && node.after.length > 1),
      hasOptional: nodes.some((node) => node.optional),
      hasSubSagas: nodes.some(startsSaga),
      hasWaits: nodes.some(({ wait, compensationReply }) => (wait ?? compensationReply) !== undefined),
      hasApprovals: nodes.some(({ kind }) => kind === 'approval'),
      hasSlots: nodes.some((node) => node.limit !== undefined),
      pivots: nodes.filter((node) => node.pivot).map((node) => node.name),
      savepoints: nodes.filter((node) => node.savepoint).map((node) => node.name),
      firstSteps: nodes.flatMap(({ name, after }) => (after.length === 0 ? name : [])).join(', '),
      places: new Map(nodes.map(({ name }, place) => [name, place])),
      descendants: new Map(),
    };
    RELATIONS.set(graph, relations);
  }
  return relations;
}

/** The steps that depend on this one, directly or through others. */
export function descendantsOf(graph: SagaGraph, name: string): ReadonlySet<string> {
  const { descendants } = relationsOf(graph);
  let found = descendants.get(name);
  if (!found) {
    const all = new Set<string>();
    for (const dependent of graph.steps.get(name)?.dependents ?? []) {
      all.add(dependent);
      for (const further of descendantsOf(graph, dependent)) all.add(further);
    }
    descendants.set(name, (found = all));
  }
  return found;
}
