import { analyzeGraph } from '../../libs/saga/src/definition/graph/analyze-graph.js';
import type { SagaGraph, StepNode } from '../../libs/saga/src/definition/graph/saga-graph.js';
import { graphOf } from '../fixtures/graph-of.js';
import { type Answer, type Listing, listing, type Scripted, scripted } from '../oracle/random-graph.js';
import type { PlannedStep, SagaPlan } from '../chaos/programs/planned-saga.js';

/** All that random sagas wait for. */
export const SIGNAL = 'x';

/** What a definition refuses is taken out of a random graph, the least first. */
const MENDS: ((node: StepNode) => StepNode | undefined)[] = [
  (node) => (node.savepoint ? { ...node, savepoint: undefined } : undefined),
  (node) => (node.pivot ? { ...node, pivot: false } : undefined),
  (node) =>
    node.compensate === undefined
      ? undefined
      : { ...node, compensate: undefined, compensateOnFailure: false },
  (node) => (node.join === 'any' ? { ...node, join: 'all' } : undefined),
  (node) => ({ ...node, after: [], join: 'all' }),
];

/**
 * A random graph as a class may have it, and as it can be followed step by step: without a deadline, which passes
 * when it will, without races between what happens by itself and what waits for its time, and with plain steps in the
 * place of sub-sagas, which end when they will. One step at most waits for a signal, and for ever.
 */
export function definable(graph: SagaGraph): SagaGraph {
  const nodes = withoutRaces([...graph.steps.values()]);
  // Which of several takes a signal hangs on when it comes, and here time is real.
  const waits = nodes.find(({ wait }) => wait !== undefined);
  const steps = nodes.map((node): StepNode => ({
    ...node,
    kind: node === waits ? 'signal' : 'step',
    child: undefined,
    compensationReply: undefined,
    // When a slot is free depends on what other sagas do, which is not played here.
    limit: undefined,
    wait: node === waits ? { signal: SIGNAL } : undefined,
    compensate: node.compensate && 'undo',
    probe: node.probe && 'ask',
  }));
  return mended({ ...graphOf(...steps), onFailure: graph.onFailure });
}

/** The same graph, without what a definition refuses. */
export function mended(graph: SagaGraph): SagaGraph {
  let steps = [...graph.steps.values()];
  for (;;) {
    const made = { ...graphOf(...steps), onFailure: graph.onFailure };
    const [finding] = analyzeGraph(made);
    if (!finding) return made;
    const at = steps.findIndex(({ name }) => name === finding.step);
    const variants = MENDS.map((mend) => mend(steps[at]!)).filter((node) => node !== undefined);
    const isMended = (node: StepNode) =>
      !analyzeGraph(graphOf(...steps.with(at, node))).some(
        ({ step, problem }) => step === finding.step && problem === finding.problem,
      );
    steps = steps.with(at, variants.find(isMended) ?? variants.at(-1)!);
  }
}

/**
 * Where a step may fail or complete without a call (its `when` throws, it has no items), nothing may wait for a
 * time that would be over before, or after.
 */
function withoutRaces(steps: StepNode[]): StepNode[] {
  const delayed = steps.some(({ delay, delayOf, wait }) => (delay ?? delayOf ?? wait) !== undefined);
  const endsByItself = steps.some(
    (node) =>
      (node.when && answersOf(node).includes('throw')) || (node.forEach && countsOf(node).includes(0)),
  );
  if (!endsByItself) return steps;
  if (!delayed && steps.length % 2 === 0)
    // A transaction takes its time to begin: it may be too late by then.
    return steps.map((node) => ({ ...node, transactional: false, retry: { ...node.retry, attempts: 1 } }));
  return steps.map((node) => ({
    ...node,
    when: node.when && scripted(answersOf(node).map((answer) => answer === true)),
    forEach: node.forEach && listing(countsOf(node).map((count) => Math.max(1, count))),
  }));
}

/** The same as plain data, from which a class can be made in any process. */
export function planOf(name: string, graph: SagaGraph): SagaPlan {
  return { name, onFailure: graph.onFailure, steps: [...graph.steps.values()].map(toPlanned) };
}

function toPlanned(node: StepNode): PlannedStep {
  return {
    name: node.name,
    after: node.after,
    join: node.join,
    attempts: node.retry.attempts,
    compensationAttempts: node.compensationRetry.attempts,
    compensated: node.compensate !== undefined,
    compensateOnFailure: node.compensateOnFailure,
    transactional: node.transactional,
    idempotent: node.idempotent,
    probed: node.probe !== undefined,
    answers: node.when && answersOf(node),
    counts: node.forEach && countsOf(node),
    itemsAtOnce: node.itemsAtOnce,
    delayed: (node.delay ?? node.delayOf) !== undefined,
    savepoint: node.savepoint,
    pivot: node.pivot,
    optional: node.optional,
    signal: node.wait?.signal,
  };
}

function answersOf({ when }: StepNode): readonly Answer[] {
  return (when as unknown as Scripted).answers;
}

function countsOf({ forEach }: StepNode): readonly number[] {
  return (forEach as unknown as Listing).counts;
}
