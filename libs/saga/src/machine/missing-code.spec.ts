import type { Gap } from '../definition/describe/bind-graph.js';
import type { SagaGraph } from '../definition/graph/saga-graph.js';
import { graphOf, sequenceOf, stepOf } from '../../../../test/fixtures/graph-of.js';
import { PENDING, type SagaState } from './saga-state.js';
import { stateOf } from '../../../../test/fixtures/state-of.js';
import { missingCode } from './missing-code.js';

const RUN: Gap = { run: 'is gone' };
const UNDO: Gap = { undo: 'cannot be undone' };
const ORDER = sequenceOf(stepOf('a'), stepOf('b'), stepOf('c'));

function needs(graph: SagaGraph, gaps: Record<string, Gap>, state: SagaState): string[] {
  return missingCode({ graph, gaps: new Map(Object.entries(gaps)) }, state).map(({ problem }) => problem);
}

describe('a saga needs a step that is gone', () => {
  const HAS_NOT = ["step 'b' is not completed yet, and is gone"];
  const HAS_BEGUN = ["step 'b' has begun, and is gone"];
  test.each<[string, SagaState, string[]]>([
    ['before it', stateOf('running', ''), HAS_NOT],
    ['just before it', stateOf('running', 'a=completed'), HAS_NOT],
    ['while it waits to try again', stateOf('running', 'a=completed b=waiting@5'), HAS_BEGUN],
    ['after it', stateOf('running', 'a=completed b=completed'), []],
    ['after it was skipped', stateOf('running', 'a=completed b=skipped'), []],
    [
      'when it has failed, and an operator may retry it',
      { ...stateOf('stuck', 'a=completed b=failed'), heldPhase: 'running' },
      HAS_BEGUN,
    ],
    ['while paused before it', stateOf('paused', 'a=completed'), HAS_NOT],
    ['not while rolling back', stateOf('compensating', 'a=completed'), []],
    [
      'not when stuck in compensation',
      { ...stateOf('stuck', 'a=compensation_failed'), heldPhase: 'compensating' },
      [],
    ],
    ['not once it has ended', stateOf('aborted', ''), []],
  ])('%s', (_, state, expected) => {
    expect(needs(ORDER, { b: RUN }, state)).toEqual(expected);
  });

  test('not in a branch that has lost', () => {
    const lost = { ...PENDING, pruned: true, status: 'skipped' } as const;
    const state = { ...stateOf('running', ''), steps: new Map([['b', lost]]) };
    expect(needs(graphOf(stepOf('a'), stepOf('b')), { b: RUN }, state)).toEqual([]);
  });

  describe('that a savepoint would have run again', () => {
    const graph = sequenceOf(stepOf('a', { savepoint: { attempts: 2 } }), stepOf('b'), stepOf('c'));
    const done = stateOf('running', 'a=completed b=completed');
    const AGAIN = ["step 'b' is completed, and is gone"];

    test('while a failure can lead back there', () => {
      expect(needs(graph, { b: RUN }, done)).toEqual(AGAIN);
    });

    test('not once its attempts are used up', () => {
      const used = { ...done.steps.get('a')!, returns: 1 };
      expect(needs(graph, { b: RUN }, { ...done, steps: new Map(done.steps).set('a', used) })).toEqual([]);
    });

    test('while it is on its way there', () => {
      const back = { ...stateOf('compensating', 'a=completed b=completed c=failed'), rollbackTo: 'a' };
      expect(needs(graph, { b: RUN }, back)).toEqual(AGAIN);
    });
  });
});

describe('a saga needs a compensation that is gone', () => {
  const DONE = ["step 'b' is completed, and cannot be undone"];
  test.each<[string, SagaState, string[]]>([
    ['of what is done', stateOf('running', 'a=completed b=completed'), DONE],
    [
      'of what it may yet do',
      stateOf('running', ''),
      ["step 'b' is not completed yet, and cannot be undone"],
    ],
    [
      'of completed steps, while rolling back',
      stateOf('compensating', 'a=completed b=completed c=failed'),
      DONE,
    ],
    [
      'of what may have happened',
      stateOf('compensating', 'a=completed b=failed?'),
      ["step 'b' has begun, and cannot be undone"],
    ],
    [
      'of what is being undone',
      stateOf('compensating', 'b=compensating'),
      ["step 'b' is being compensated, and cannot be undone"],
    ],
    ['not of a step that failed permanently', stateOf('compensating', 'a=completed b=failed'), []],
    ['not of what was skipped', stateOf('running', 'a=completed b=skipped'), []],
    ['not of what is undone', stateOf('compensating', 'a=completed b=compensated'), []],
    ['not of a step that never started, while rolling back', stateOf('compensating', 'a=completed'), []],
  ])('%s', (_, state, expected) => {
    expect(needs(ORDER, { b: UNDO }, state)).toEqual(expected);
  });

  test('not behind its pivot', () => {
    const graph = sequenceOf(stepOf('a'), stepOf('b', { pivot: true }), stepOf('c'));
    expect(needs(graph, { a: UNDO }, stateOf('running', 'a=completed'))).not.toEqual([]);
    expect(needs(graph, { a: UNDO }, stateOf('running', 'a=completed b=completed'))).toEqual([]);
  });

  test('of an item of a fan-out that is not undone yet', () => {
    const graph = graphOf(stepOf('b', { forEach: () => [] }));
    const fanOut = (...statuses: ('completed' | 'compensated' | 'failed')[]): SagaState => ({
      ...stateOf('compensating', ''),
      steps: new Map([
        ['b', { ...PENDING, status: 'failed', items: statuses.map(() => '1') }],
        ...statuses.map((status, n) => [`b[${n}]`, { ...PENDING, status }] as const),
      ]),
    });
    expect(needs(graph, { b: UNDO }, fanOut('compensated', 'completed'))).toHaveLength(1);
    expect(needs(graph, { b: UNDO }, fanOut('compensated', 'failed'))).toEqual([]);
  });
});
