import { recordOf } from '../definition/describe/graph-record.js';
import type { UnlinkedStep } from '../definition/graph/link-steps.js';
import type { SagaGraph } from '../definition/graph/saga-graph.js';
import { graphOf, sequenceOf, stepOf } from '../../../../test/fixtures/graph-of.js';
import { obstacleToMove } from './can-upgrade.js';
import { PENDING, type SagaState } from './saga-state.js';
import { stateOf } from '../../../../test/fixtures/state-of.js';

const [a, b, c] = [stepOf('a'), stepOf('b'), stepOf('c')];
const OLD = sequenceOf(a, b, c);
const AFTER_B = stateOf('running', 'a=completed b=completed');

function obstacle(from: SagaGraph, to: SagaGraph, state: SagaState): string | undefined {
  return obstacleToMove(recordOf(from), { ...to, version: 2 }, state);
}

describe('a saga may move to a version', () => {
  const each = (options: Partial<UnlinkedStep>) => stepOf('b', options);
  test.each<[string, SagaGraph, SagaState]>([
    ['that is the same', OLD, AFTER_B],
    ['that has more steps to come', sequenceOf(a, b, c, stepOf('d')), AFTER_B],
    ['that has another step next', sequenceOf(a, b, stepOf('x'), c), AFTER_B],
    ['without a step that it has not reached', sequenceOf(a, b), AFTER_B],
    [
      'whose steps before it are others, while it has not begun',
      sequenceOf(stepOf('x'), c),
      stateOf('running', ''),
    ],
    ['that undoes what is done in another way', sequenceOf(a, each({ compensate: 'other' }), c), AFTER_B],
    ['that takes what is done for a pivot', sequenceOf(a, each({ pivot: true }), c), AFTER_B],
    [
      'that takes what is done for a savepoint',
      sequenceOf(stepOf('a', { savepoint: { attempts: 2 } }), b, c),
      AFTER_B,
    ],
    ['where what is done stands side by side', graphOf(a, b, stepOf('c', { after: ['a', 'b'] })), AFTER_B],
    ['whose condition skipped a step here', OLD, stateOf('running', 'a=skipped b=completed')],
    [
      'of another way on from a step that failed',
      sequenceOf(a, b, stepOf('x')),
      { ...stateOf('stuck', 'a=completed b=failed'), heldPhase: 'running' },
    ],
    ['while it is suspended', OLD, { ...stateOf('suspended', 'a=completed b=failed'), heldPhase: 'running' }],
    ['while it is paused', OLD, stateOf('paused', 'a=completed')],
    ['while it waits to try again', OLD, stateOf('running', 'a=completed b=waiting@5')],
    [
      'with another step before one whose delay runs',
      sequenceOf(a, stepOf('x'), b),
      {
        ...stateOf('running', ''),
        steps: new Map([
          ['a', { ...PENDING, status: 'completed' }],
          ['b', { ...PENDING, status: 'waiting', retryAt: 5 }],
        ]),
      },
    ],
    [
      'without a step of which nothing is recorded but why it was never run',
      sequenceOf(a, c),
      {
        ...stateOf('running', 'a=completed'),
        steps: new Map([
          ['a', { ...PENDING, status: 'completed' }],
          ['b', { ...PENDING, errors: [] }],
        ]),
      },
    ],
  ])('%s', (_, to, state) => {
    expect(obstacle(OLD, to, state)).toBeUndefined();
  });
});

describe('a saga stays where it is', () => {
  const with_ = (options: Partial<UnlinkedStep>) => sequenceOf(a, stepOf('b', options), c);
  test.each<[string, SagaGraph, SagaState, string]>([
    [
      'since what is done has no such name there',
      sequenceOf(a, stepOf('x'), c),
      AFTER_B,
      "step 'b' is completed, and version 2 has no step of that name",
    ],
    [
      'since a step that started has no such name there',
      sequenceOf(a, c),
      stateOf('running', 'a=completed b=waiting@5'),
      "step 'b' has begun, and version 2 has no step of that name",
    ],
    [
      'since what was skipped has no such name there',
      sequenceOf(a, c),
      stateOf('running', 'a=completed b=skipped'),
      "step 'b' was skipped, and version 2 has no step of that name",
    ],
    [
      'since what is done is another kind of step there',
      with_({ kind: 'sub-saga' }),
      AFTER_B,
      "step 'b' is completed, and in version 2 it is a sub-saga",
    ],
    [
      'since what is done is left to a handler there',
      with_({ kind: 'remote', remote: { name: 'stock', version: 1 } }),
      AFTER_B,
      "step 'b' is completed, and in version 2 it is a remote step",
    ],
    [
      'since what is done is a fan-out there',
      with_({ forEach: () => [] }),
      AFTER_B,
      "step 'b' is completed, and in version 2 it runs once per item",
    ],
    [
      'since nothing there compensates what is done',
      with_({ compensate: undefined }),
      AFTER_B,
      "step 'b' is completed, and has the compensation 'undo b', and in version 2 it has none",
    ],
    [
      'since another step comes before what is done there',
      sequenceOf(a, stepOf('x'), b, c),
      AFTER_B,
      "step 'b' is completed, and in version 2 it comes after 'x', which is not completed",
    ],
    [
      'since another step comes before the started step there',
      sequenceOf(a, stepOf('x'), b, c),
      stateOf('running', 'a=completed b=waiting@5'),
      "step 'b' has begun, and in version 2 it comes after 'x', which is not completed",
    ],
    [
      'while it rolls back',
      OLD,
      stateOf('compensating', 'a=completed b=failed'),
      'it compensates, and ends in the version that it began with',
    ],
    [
      'while it rolls back to a savepoint',
      OLD,
      { ...stateOf('compensating', 'a=completed'), rollbackTo: 'a' },
      'it compensates, and ends in the version that it began with',
    ],
    [
      'when it is stuck in compensation',
      OLD,
      { ...stateOf('stuck', 'a=compensation_failed'), heldPhase: 'compensating' },
      'it compensates, and ends in the version that it began with',
    ],
    ['once it has ended', OLD, stateOf('completed', ''), 'it has ended'],
    [
      'while the outcome of a step is unknown',
      OLD,
      stateOf('running', 'a=running'),
      "step 'a' was running when its worker was lost, and a worker with the version that it began with has to determine the outcome",
    ],
  ])('%s', (_, to, state, sentence) => {
    expect(obstacle(OLD, to, state)).toBe(sentence);
  });

  test('since it has passed a pivot that is none there', () => {
    const old = sequenceOf(a, stepOf('b', { pivot: true }), c);
    expect(obstacle(old, OLD, AFTER_B)).toBe(
      "step 'b' is completed, and is a pivot, and in version 2 it is not",
    );
    expect(obstacle(old, OLD, stateOf('running', 'a=completed'))).toBeUndefined();
  });

  test('since its items are not to be had there', () => {
    const old = sequenceOf(a, stepOf('b', { forEach: () => [] }), c);
    const items: SagaState = {
      ...stateOf('running', ''),
      steps: new Map([
        ['a', { ...PENDING, status: 'completed' }],
        ['b', { ...PENDING, status: 'running', items: ['1'] }],
        ['b[0]', { ...PENDING, status: 'completed' }],
      ]),
    };
    expect(obstacle(old, OLD, items)).toBe(
      "step 'b' has begun, and in version 2 it does not run once per item",
    );
    expect(obstacle(old, old, items)).toBeUndefined();
  });
});

describe('a race', () => {
  const racing = (...entries: string[]) =>
    graphOf(a, b, stepOf('x', { after: [] }), stepOf('c', { after: entries, join: 'any' }));
  const won: SagaState = {
    ...stateOf('running', ''),
    steps: new Map([
      ['a', { ...PENDING, status: 'completed' }],
      ['b', { ...PENDING, status: 'skipped', pruned: true }],
      ['c', { ...PENDING, wonBy: 'a' }],
    ]),
  };

  test('goes on where it is the same', () => {
    expect(obstacle(racing('a', 'b'), racing('b', 'a'), won)).toBeUndefined();
  });

  test('keeps a saga that has begun it from a version where it is another, or none', () => {
    const sentence =
      "step 'a' is completed, and the steps that 'c' waits for with join 'any' differ in version 2";
    expect(obstacle(racing('a', 'b'), racing('a', 'b', 'x'), won)).toBe(sentence);
    expect(obstacle(racing('a', 'b'), graphOf(a, b, stepOf('c', { after: ['a', 'b'] })), won)).toBe(sentence);
    expect(
      obstacle(
        graphOf(a, b, stepOf('c', { after: ['a', 'b'] })),
        racing('a', 'b'),
        stateOf('running', 'a=completed'),
      ),
    ).toBe(sentence);
    expect(obstacle(racing('a', 'b'), racing('a', 'x'), stateOf('running', ''))).toBeUndefined();
  });

  test('keeps a saga from a version that needs what has lost', () => {
    const more = (...steps: UnlinkedStep[]) =>
      graphOf(a, b, stepOf('c', { after: ['a', 'b'], join: 'any' }), ...steps);
    expect(obstacle(more(), more(stepOf('d', { after: ['b'] })), won)).toBe(
      "step 'b' was cancelled by join 'any', and version 2 has other steps after it",
    );
    expect(obstacle(more(), more(stepOf('d', { after: ['c'] })), won)).toBeUndefined();
  });
});
