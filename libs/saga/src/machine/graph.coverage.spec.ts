import fc from 'fast-check';
import type { SagaGraph, StepNode } from '../definition/graph/saga-graph.js';
import type { Attempt, Entry, Play } from '../../../../test/oracle/model-entries.js';
import { type RandomGraph, randomGraphs } from '../../../../test/oracle/random-graph.js';
import { playGraph } from '../../../../test/oracle/run-model.js';
import { violationOf } from '../../../../test/oracle/violation-of.js';
import { barredPivots } from './pivots.js';
import { type SagaState, stepState, type StepState } from './saga-state.js';

/** More of them: GRAPH_RUNS=100000. */
const RUNS = Number(process.env.GRAPH_RUNS ?? 2_000);

/** How many plays have it, by what it is. */
class Counts {
  private readonly found = new Map<string, number>();

  add(...whats: readonly string[]): void {
    for (const what of whats) this.found.set(what, (this.found.get(what) ?? 0) + 1);
  }

  /** Those of `wanted` that were found fewer times than this. */
  rarerThan(bound: number, wanted: readonly string[]): string[] {
    return wanted.filter((what) => (this.found.get(what) ?? 0) < bound);
  }
}

// A file of its own beside graph.properties.spec.ts, so that both run at the same time.
describe('the sagas of the promises', () => {
  const ends = new Counts();
  const children = new Counts();
  const waits = new Counts();
  const turns = new Counts();

  beforeAll(() => {
    // What was counted of a play is all that is kept of it: together they would fill the memory.
    for (const saga of fc.sample(randomGraphs, { numRuns: RUNS, seed: 3 })) {
      const play = playGraph(saga);
      ends.add(...endsOf(play));
      children.add(...waysOfChildren(play.entries));
      waits.add(...waysOfWaits(play.entries));
      turns.add(...waysOfTurns(play.entries));
    }
  }, 3_600_000);

  it('come to every end, by every way', () => {
    const wanted = [
      ...['completed', 'compensated', 'aborted', 'stuck', 'suspended', 'returned', 'raced'],
      ...['went on without an optional step', 'undid an optional step, and went on', 'undone after all'],
    ];
    expect(ends.rarerThan(10, wanted)).toEqual([]);
  });

  it('start others, which come to every end, asked or not', () => {
    const wanted = [
      ...['began: completed', 'began: compensated', 'began: aborted'],
      ...['was cancelled: completed', 'was cancelled: compensated', 'was cancelled: aborted'],
      ...['was to be undone: compensated', 'was to be undone: aborted', 'refused to be undone'],
    ];
    expect(children.rarerThan(5, wanted)).toEqual([]);
  });

  it('wait for signals that come early, in time, twice, without a waiter, or not at all', () => {
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
    expect(waits.rarerThan(10, wanted)).toEqual([]);
  });

  it('begin when a rate limit lets them, or ask again, and wait for approvals of several operators', () => {
    const wanted = [
      ...['has to wait', 'begins', 'asks again', 'has no key', 'is over before its turn'],
      ...['approve: sent', 'approve: counted', 'approve: refused', 'reject: sent', 'reject: refused'],
    ];
    expect(turns.rarerThan(10, wanted)).toEqual([]);
  });

  it('are to roll back while pivots are in progress, which then complete, fail, or stay unknown', () => {
    const pivots = new Counts();
    const violations = fc.sample(randomGraphs, { numRuns: RUNS, seed: 6 }).flatMap((random) => {
      const saga = withPivots(random);
      const play = playGraph(saga);
      pivots.add(...waysOfPivots(saga.graph, play.entries));
      return violationOf(saga, play) ?? [];
    });
    expect(violations).toEqual([]);
    const wanted = ['waits', 'goes forward', 'rolls back', 'is barred', 'barred, and forward again'];
    expect(pivots.rarerThan(5, wanted)).toEqual([]);
  });
});

/** What a play came to, and by which ways; each once. */
function endsOf({ end, entries }: Play): string[] {
  const steps = [...end.steps.values()];
  const isCompleted = end.status === 'completed';
  const ways = {
    [end.status]: true,
    suspended: entries.some((entry) => entry.type === 'event' && entry.after.status === 'suspended'),
    returned: end.round > 1,
    raced: isCompleted && steps.some(({ pruned }) => pruned),
    'went on without an optional step': isCompleted && steps.some(isContinued),
    'undid an optional step, and went on':
      isCompleted && steps.some((step) => isContinued(step) && step.status === 'compensated'),
    'undone after all': entries.some(isUndone),
  };
  return Object.entries(ways).flatMap(([way, has]) => (has ? [way] : []));
}

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

/** What became of turns, and of what operators said. */
function waysOfTurns(entries: readonly Entry[]): string[] {
  let isAsked = false;
  let now = 0;
  return entries.flatMap((entry) => {
    if (entry.type === 'decision') now = entry.now;
    if (entry.type === 'decided') return [`${entry.approved ? 'approve' : 'reject'}: ${entry.outcome}`];
    if (entry.type !== 'event') return [];
    const { event, before, after } = entry;
    if (event.type === 'turn-granted') {
      const again = isAsked ? ['asks again'] : [];
      isAsked = true;
      return event.at > now ? [...again, 'has to wait'] : again;
    }
    if (event.type === 'begun') return before.turn === undefined ? ['has no key'] : ['begins'];
    const isBefore = isAsked && before.turn !== undefined && before.turn !== 'begun';
    return isBefore && after.status === 'compensating' ? ['is over before its turn'] : [];
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
