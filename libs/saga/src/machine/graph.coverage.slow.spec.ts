import fc from 'fast-check';
import type { SagaGraph, StepNode } from '../definition/graph/saga-graph.js';
import type { Entry } from '../../../../test/oracle/model-entries.js';
import { type RandomGraph, randomGraphs } from '../../../../test/oracle/random-graph.js';
import { playGraph } from '../../../../test/oracle/run-model.js';
import { violationOf } from '../../../../test/oracle/violation-of.js';
import { Counts, waysOfSlots } from '../../../../test/oracle/ways-of-plays.js';
import { barredPivots } from './pivots.js';
import type { SagaState } from './saga-state.js';

/** More of them: GRAPH_RUNS=100000. */
const RUNS = Number(process.env.GRAPH_RUNS ?? 2_000);

describe('the sagas of the promises', () => {
  it('are to roll back while pivots are in progress, which then complete, fail, or stay unknown', () => {
    const pivots = new Counts();
    const slots = new Counts();
    const violations = fc.sample(randomGraphs, { numRuns: RUNS, seed: 6 }).flatMap((random) => {
      const saga = withPivots(random);
      const play = playGraph(saga);
      pivots.add(...waysOfPivots(saga.graph, play.entries));
      slots.add(...waysOfSlots(saga.graph, play.entries));
      return violationOf(saga, play) ?? [];
    });
    expect(violations).toEqual([]);
    const wanted = ['waits', 'goes forward', 'rolls back', 'is barred', 'barred, and forward again'];
    expect(pivots.rarerThan(5, wanted)).toEqual([]);
    // Only what has halted is an operator's to do, while a step beside it waits for a slot.
    expect(slots.rarerThan(5, ['is done by an operator'])).toEqual([]);
  });
});

/**
 * Every second step is a pivot that nothing can compensate, and in the end an operator deals with the saga: in random
 * graphs both are rare.
 */
function withPivots({ graph, moves }: RandomGraph): RandomGraph {
  const steps = [...graph.steps.values()].map((node, index): StepNode => {
    if (index % 2 !== 1 || node.kind !== 'step' || node.forEach) return node;
    return { ...node, pivot: true, optional: false, compensate: undefined, compensateOnFailure: false };
  });
  const again = { kind: 'retry', pick: 0, random: 0.5 } as const;
  const done = { kind: 'resolve one', pick: moves.length, random: 0.5 } as const;
  return {
    graph: { ...graph, steps: new Map(steps.map((node) => [node.name, node])) },
    moves: [...moves, ...(moves.length % 3 === 0 ? [done] : []), again, again, again],
  };
}

/** What became of rollbacks that waited for a pivot. */
function waysOfPivots(graph: SagaGraph, entries: readonly Entry[]): string[] {
  return entries.flatMap((entry) => {
    if (entry.type !== 'event' || entry.before === entry.after) return [];
    const { before, after } = entry;
    const isBarred = (state: SagaState) => barredPivots(graph, state).length > 0;
    if (isBarred(after) && !isBarred(before)) return ['is barred'];
    if (isBarred(before) && after.status === 'running') return ['barred, and forward again'];
    if (after.pendingRollback) return before.pendingRollback ? [] : ['waits'];
    if (!before.pendingRollback) return [];
    return [after.status === 'compensating' ? 'rolls back' : 'goes forward'];
  });
}
