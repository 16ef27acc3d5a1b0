import type { SagaGraph, StepNode } from '../definition/graph/saga-graph.js';
import { relationsOf } from './graph-relations.js';
import { isDone, isPassed } from './predicates.js';
import type { SagaState, StepState } from './saga-state.js';
import { StepMap } from './data/step-map.js';

/** With so many steps, to look at all of them after each event costs more than the rest of the engine. */
const MANY = 64;

/** The steps of a saga in which something may happen next while it goes forward. */
export interface OpenSteps {
  /**
   * In the order of the graph. All that are not done are among them, but for those that wait for others that are not: so if
   * none of them is left to do, none is at all. (A step that waits for one that was cut is cut itself, or its race is won.)
   */
  readonly nodes: Iterable<StepNode>;
  /** All steps are among them. */
  readonly isAll: boolean;
}

/** What is open at one state, kept to be brought up to date by what has changed at the next. */
interface Known {
  readonly graph: SagaGraph;
  steps: StepMap;
  readonly open: Set<StepNode>;
}

/** By what all states of a saga share, from one load on. */
const known = new WeakMap<object, Known>();

export function openSteps(graph: SagaGraph, { steps }: SagaState): OpenSteps {
  if (graph.steps.size < MANY || !(steps instanceof StepMap))
    return { nodes: graph.steps.values(), isAll: true };
  const { places } = relationsOf(graph);
  const placeOf = ({ name }: StepNode) => places.get(name)!;
  const nodes = [...openAt(graph, steps)].sort((a, b) => placeOf(a) - placeOf(b));
  return { nodes, isAll: false };
}

function openAt(graph: SagaGraph, steps: StepMap): ReadonlySet<StepNode> {
  const before = known.get(steps.lineage);
  const changes = before?.graph === graph ? steps.ownChangesSince(before.steps) : undefined;
  if (before && changes) {
    before.steps = steps;
    for (const [name, step] of changes) take(before, name, step);
    return before.open;
  }
  const roots = [...graph.steps.values()].filter(({ after }) => after.length === 0);
  const now: Known = { graph, steps, open: new Set(roots) };
  for (const [name, step] of steps.ownEntries()) take(now, name, step);
  known.set(steps.lineage, now);
  return now.open;
}

/** A step may begin once one that it waits for is done, or the saga continues without that. */
function take({ graph, steps, open }: Known, name: string, step: StepState): void {
  const node = graph.steps.get(name);
  if (node === undefined) return;
  if (!isPassed(step)) return void open.add(node);
  // What the saga continues without may have to be undone.
  if (isDone(step)) open.delete(node);
  else open.add(node);
  // Those that something has happened to are taken by themselves.
  for (const dependent of node.dependents) if (!steps.has(dependent)) open.add(graph.steps.get(dependent)!);
}
