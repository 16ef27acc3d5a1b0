import type { SagaGraph } from '../definition/graph/saga-graph.js';
import type { Action, MachineDecision } from './plan.js';

/**
 * What a paused step does not begin: attempts, the items of a fan-out, and the probe of an attempt that was lost. What is in
 * progress goes on, and so do delays, waits, and compensations.
 */
const HELD: ReadonlySet<Action['kind']> = new Set(['run', 'expand', 'probe']);

/**
 * Returns a decision without what must not begin while these steps are paused. The saga's deadline, and the times of its
 * other steps, stay as they are.
 */
export function holdPaused(
  graph: SagaGraph,
  decision: MachineDecision,
  paused: ReadonlySet<string>,
): MachineDecision {
  const { actions, ...rest } = decision;
  const held = actions.filter((action) => isHeld(graph, action, paused));
  if (held.length === 0) return decision;
  return { ...rest, actions: actions.filter((action) => !held.includes(action)), held };
}

function isHeld(graph: SagaGraph, { kind, node }: Action, paused: ReadonlySet<string>): boolean {
  // A saga that could begin nothing takes no time from its rate limit.
  if (kind === 'begin') return roots(graph).every((name) => paused.has(name));
  return HELD.has(kind) && paused.has(node.name);
}

function roots(graph: SagaGraph): string[] {
  return [...graph.steps.values()].filter(({ after }) => after.length === 0).map(({ name }) => name);
}
