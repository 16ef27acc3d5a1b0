import { nearestName } from '../../shared/nearest-name.js';
import type { SagaFinding } from '../../shared/diagnostic.js';
import { sagaLabel, type SagaGraph, type StepNode } from './saga-graph.js';

/** A step before its edges are known from both ends. */
export type UnlinkedStep = Omit<StepNode, 'dependents'>;

/** What is wrong with the edges of a graph: whose edge, what, and the fix. */
export type LinkProblem = SagaFinding & { readonly step: string };

/**
 * Links steps into a graph in topological order (Kahn, 1962), or says why they form none.
 * Steps keep their order of declaration wherever the edges allow.
 */
export function linkSteps(steps: readonly UnlinkedStep[]): ReadonlyMap<string, StepNode> | LinkProblem[] {
  const unknown = unknownNames(steps);
  const known = new Map(steps.map((step) => [step.name, step]));
  const linked = new Map<string, StepNode>();
  let waiting = [...steps];
  while (waiting.length > 0) {
    const next = waiting.find((step) => step.after.every((name) => linked.has(name) || !known.has(name)));
    if (!next) return [...unknown, ...cycles(waiting)];
    const dependents = steps.filter((step) => step.after.includes(next.name)).map((step) => step.name);
    linked.set(next.name, Object.freeze({ ...next, dependents }));
    waiting = waiting.filter((step) => step !== next);
  }
  return unknown.length > 0 ? unknown : linked;
}

/**
 * Returns the graph of steps whose edges were checked before.
 * @throws Error when they have no order
 */
export function linkedGraph(own: Omit<SagaGraph, 'steps'>, nodes: readonly UnlinkedStep[]): SagaGraph {
  const steps = linkSteps(nodes);
  if (Array.isArray(steps)) throw new Error(`The graph of ${sagaLabel(own)} has no order`);
  return Object.freeze({ ...own, steps });
}

function unknownNames(steps: readonly UnlinkedStep[]): LinkProblem[] {
  const names = new Set(steps.map((step) => step.name));
  return steps.flatMap((step) =>
    step.after
      .filter((name) => !names.has(name))
      .map((name) => {
        const meant = nearestName(
          name,
          [...names].filter((other) => other !== step.name && !step.after.includes(other)),
        );
        return {
          step: step.name,
          problem: `waits for '${name}', which is not a step of this saga`,
          fix: `${meant === undefined ? 'name' : `did you mean '${meant}'? Name`} one of its steps: ${[...names].join(', ')}`,
          severity: 'error' as const,
        };
      }),
  );
}

/** A shortest circle for each step that is part of one, unless it stands in another's already. */
function cycles(waiting: readonly UnlinkedStep[]): LinkProblem[] {
  const steps = new Map(waiting.map((step) => [step.name, step]));
  const named = new Set<string>();
  const problems: LinkProblem[] = [];
  for (const { name } of waiting) {
    const circle = named.has(name) ? undefined : circleThrough(name, steps);
    if (!circle) continue;
    for (const part of circle) named.add(part);
    problems.push({
      step: name,
      problem: `waits for itself, in the cycle ${circle.join(' → ')}`,
      fix: 'take one of these names out of an after (a step without after waits for the one declared just before it)',
      severity: 'error',
    });
  }
  return problems;
}

/** In the order in which the steps would run, from the given one to itself; breadth first, so it is a shortest. */
function circleThrough(start: string, steps: ReadonlyMap<string, UnlinkedStep>): string[] | undefined {
  const paths: string[][] = [[start]];
  const reached = new Set<string>();
  for (const path of paths) {
    for (const before of steps.get(path[0]!)!.after) {
      if (before === start) return [start, ...path];
      if (!steps.has(before) || reached.has(before)) continue;
      reached.add(before);
      paths.push([before, ...path]);
    }
  }
  return undefined;
}
