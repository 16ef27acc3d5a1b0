import fc from 'fast-check';
import type { SagaGraph, StepNode } from '../definition/graph/saga-graph.js';
import type { Attempt, Entry, Play } from '../../../../test/oracle/model-entries.js';
import { type RandomGraph, randomGraphs } from '../../../../test/oracle/random-graph.js';
import { playGraph } from '../../../../test/oracle/run-model.js';
import { violationOf } from '../../../../test/oracle/violation-of.js';
import { barredPivots } from './pivots.js';
import { type SagaState, stepState, type StepState } from './saga-state.js';

// A file of its own beside graph.properties.spec.ts, so that both run at the same time.
describe('the sagas of the promises', () => {
  const plays = fc.sample(randomGraphs, { numRuns: 2_000, seed: 3 }).map((saga) => playGraph(saga));

  it('come to every end, by every way', () => {
    const count = (has: (play: Play) => boolean) => plays.filter(has).length;
    const counts = {
      completed: count(({ end }) => end.status === 'completed'),
      compensated: count(({ end }) => end.status === 'compensated'),
      aborted: count(({ end }) => end.status === 'aborted'),
      stuck: count(({ end }) => end.status === 'stuck'),
      suspended: count(({ entries }) =>
        entries.some((entry) => entry.type === 'event' && entry.after.status === 'suspended'),
      ),
      returned: count(({ end }) => end.round > 1),
      raced: count(
        ({ end }) => end.status === 'completed' && [...end.steps.values()].some(({ pruned }) => pruned),
      ),
      'went on without an optional step': count(
        ({ end }) => end.status === 'completed' && [...end.steps.values()].some(isContinued),
      ),
      'undid an optional step, and went on': count(({ end }) =>
        [...end.steps.values()].some((step) => isContinued(step) && step.status === 'compensated'),
      ),
      'undone after all': count(({ entries }) => entries.some(isUndone)),
    };
    expect(Object.entries(counts).filter(([, plenty]) => plenty < 10)).toEqual([]);
  });

  it('start others, which come to every end, asked or not', () => {
    const ways = plays.flatMap(({ entries }) => waysOfChildren(entries));
    const wanted = [
      ...['began: completed', 'began: compensated', 'began: aborted'],
      ...['was cancelled: completed', 'was cancelled: compensated', 'was cancelled: aborted'],
      ...['was to be undone: compensated', 'was to be undone: aborted', 'refused to be undone'],
    ];
    expect(wanted.filter((way) => ways.filter((other) => other === way).length < 5)).toEqual([]);
  });

  it('wait for signals that come early, in time, twice, without a waiter, or not at all', () => {
    const ways = plays.flatMap(({ entries }) => waysOfWaits(entries));
    const wanted = [
      ...[
        'wait-started',
        'signalled',
        'refused',
        'wait-expired',
        'a refusal is sent',
        'nobody',
        'sent again',
      ],
      ...['a wait is cut', 'a wait is rolled back', 'called again'],
      ...['compensation-requested', 'reply-received', 'a reply is missed'],
    ];
    expect(wanted.filter((way) => ways.filter((other) => other === way).length < 10)).toEqual([]);
  });

  it('are to roll back while pivots are in progress, which then complete, fail, or stay unknown', () => {
    const sagas = fc.sample(randomGraphs, { numRuns: 2_000, seed: 6 }).map(withPivots);
    const plays = sagas.map((saga) => ({ saga, play: playGraph(saga) }));
    expect(plays.map(({ saga, play }) => violationOf(saga, play)).filter(Boolean)).toEqual([]);
    const ways = plays.flatMap(({ saga, play }) => waysOfPivots(saga.graph, play.entries));
    const wanted = ['waits', 'goes forward', 'rolls back', 'is barred', 'barred, and forward again'];
    expect(wanted.filter((way) => ways.filter((other) => other === way).length < 5)).toEqual([]);
  });
});

/**
 * Every second step is a pivot that nothing can compensate, and in the end the saga is retried: in random
 * graphs both
 * are rare.
 */
function withPivots({ graph, moves }: RandomGraph): RandomGraph {
  const steps = [...graph.steps.values()].map((node, index): StepNode => {
    if (index % 2 !== 1 || node.kind !== 'step' || node.forEach) return node;
    return { ...node, pivot: true, optional: false, compensate: undefined, compensateOnFailure: false };
  });
  const again = { kind: 'retry', pick: 0, random: 0.5 } as const;
  return {
    graph: { ...graph, steps: new Map(steps.map((node) => [node.name, node])) },
    moves: [...moves, again, again, again],
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

/** What became of what was sent, and of those that waited. */
function waysOfWaits(entries: readonly Entry[]): string[] {
  const started = new Set<string>();
  return entries.flatMap((entry) => {
    if (entry.type === 'started' && entry.attempt.node.wait) return again(started, entry.attempt);
    if (entry.type === 'sent') return entry.signal.isRefusal ? ['a refusal is sent'] : [];
    if (entry.type === 'decision' && entry.known.some(({ name }) => name === 'z')) return ['nobody'];
    if (entry.type !== 'event') return [];
    const { event, before, after, late } = entry;
    if (late) return event.type === 'signalled' || event.type === 'refused' ? ['sent again'] : [];
    if (before === after) return [];
    const { type } = event;
    if (type === 'compensation-requested' || type === 'reply-received') return [type];
    if (type === 'compensation-failed' && stepState(before, event.step).wait) return ['a reply is missed'];
    if (type === 'wait-started' || type === 'signalled' || type === 'refused' || type === 'wait-expired')
      return [type];
    const isLeft = ({ status, wait }: StepState) =>
      status === 'waiting' && wait && wait.takenSignal === undefined;
    const left = [...before.steps].filter(([, step]) => isLeft(step)).map(([key]) => stepState(after, key));
    if (left.some(({ pruned }) => pruned)) return ['a wait is cut'];
    return left.some((step) => !isLeft(step)) ? ['a wait is rolled back'] : [];
  });
}

/** A step that took a signal and had started with it before. */
function again(started: Set<string>, { key, round, kind }: Attempt): string[] {
  const id = `${kind} ${key}~${round}`;
  const isAgain = started.has(id);
  started.add(id);
  return isAgain ? ['called again'] : [];
}

/** What the sagas that steps started came to, after what was asked of them last. */
function waysOfChildren(entries: readonly Entry[]): string[] {
  const asked = new Map<string, string>();
  return entries.flatMap((entry) => {
    if (entry.type !== 'child') return [];
    const { what, child } = entry;
    if (what === 'ended') return [`${asked.get(child.id)}: ${child.status}`];
    asked.set(child.id, what);
    return what === 'was to be undone' && child.status !== 'undoing' ? ['refused to be undone'] : [];
  });
}

function isUndone(entry: Entry): boolean {
  return entry.type === 'event' && entry.event.type === 'undone' && entry.after !== entry.before;
}

function isContinued({ continued }: StepState): boolean {
  return continued === true;
}
