import type { SagaGraph } from '../definition/graph/saga-graph.js';
import { decide } from './decide.js';
import { graphOf, sequenceOf, stepOf } from '../../../../test/fixtures/graph-of.js';
import type { SagaStatus } from '../definition/types/saga-status.js';
import { stateOf } from '../../../../test/fixtures/state-of.js';

/** A decision in short: what to run and undo, then when to look again or how the saga comes to rest. */
function decided(graph: SagaGraph, status: SagaStatus, steps: string, now: number): string {
  const { actions, settle, wakeAt } = decide(graph, stateOf(status, steps), now);
  const words = actions.map(({ kind, node }) => `${kind === 'run' ? 'run' : 'undo'} ${node.name}`);
  if (settle) words.push(`settle ${settle}`);
  if (wakeAt !== undefined) words.push(`wake ${wakeAt}`);
  return words.join(', ') || 'wait';
}

type Row = [promise: string, steps: string, decision: string];

function table(graph: SagaGraph, status: SagaStatus, rows: Row[], now = 500): void {
  it.each(rows)('%s: (%s) → %s', (_, steps, decision) => {
    expect(decided(graph, status, steps, now)).toBe(decision);
  });
}

const SEQUENCE = sequenceOf(stepOf('a'), stepOf('b'), stepOf('c'));
const DIAMOND = graphOf(
  stepOf('a'),
  stepOf('b', { after: ['a'] }),
  stepOf('c', { after: ['a'] }),
  stepOf('d', { after: ['b', 'c'] }),
);

describe('a sequence going forward', () => {
  table(SEQUENCE, 'running', [
    ['begins with its first step', '', 'run a'],
    ['waits for the attempt in progress', 'a=running!', 'wait'],
    ['goes on after a step that completed', 'a=completed', 'run b'],
    ['goes on after a step that was skipped', 'a=skipped', 'run b'],
    ['runs an attempt again that was lost', 'a=completed b=running', 'run b'],
    ['waits until a retry is due', 'a=completed b=waiting@501', 'wake 501'],
    ['retries what is due', 'a=completed b=waiting@500', 'run b'],
    ['completes when every step is done', 'a=completed b=skipped c=completed', 'settle completed'],
    ['does not complete before its last step', 'a=completed b=completed c=running!', 'wait'],
    ['begins no step before those that it waits for', 'c=pending', 'run a'],
  ]);
});

describe('a sequence rolling back', () => {
  table(SEQUENCE, 'compensating', [
    ['undoes the last step that completed first', 'a=completed b=completed c=failed', 'undo b'],
    ['undoes one after the other', 'a=completed b=compensating! c=failed', 'wait'],
    ['goes on when a step is undone', 'a=completed b=compensated c=failed', 'undo a'],
    ['ends when the last is undone', 'a=compensated b=compensated c=failed', 'settle compensated'],
    ['ends at once when nothing happened', '', 'settle compensated'],
    ['waits for the attempt in progress', 'a=completed b=completed c=running!', 'wait'],
    ['does not compensate a step that failed permanently', 'a=failed', 'settle compensated'],
    ['undoes what failed with its outcome unknown', 'a=completed b=failed?', 'undo b'],
    ['does not undo what never ran', 'a=completed', 'undo a'],
    ['does not undo what was skipped', 'a=completed b=skipped', 'undo a'],
    ['begins no step', 'a=pending', 'settle compensated'],
    ['waits until a retry is due', 'a=completed b=compensating@501 c=failed', 'wake 501'],
    ['retries what is due', 'a=completed b=compensating@500 c=failed', 'undo b'],
    ['runs a compensation again that was lost', 'a=completed b=compensating c=failed', 'undo b'],
    ['is stuck when a compensation failed permanently', 'a=completed b=compensation_failed', 'settle stuck'],
    ['is stuck though all before is undone', 'a=compensation_failed b=compensated', 'settle stuck'],
  ]);
});

describe('a sequence with steps that have no compensation', () => {
  const plain = sequenceOf(stepOf('a'), stepOf('b', { compensate: undefined }), stepOf('c'));
  table(plain, 'compensating', [
    ['passes over them', 'a=completed b=completed c=compensated', 'undo a'],
    ['keeps the order across them', 'a=completed b=completed c=completed', 'undo c'],
    ['waits for what is behind them', 'a=completed b=completed c=compensating!', 'wait'],
    ['waits for the retry behind them', 'a=completed b=completed c=compensating@501', 'wake 501'],
    [
      'is stuck when a compensation behind them failed permanently',
      'a=completed b=completed c=compensation_failed',
      'settle stuck',
    ],
    ['waits for their attempt in progress', 'a=completed b=running!', 'wait'],
    ['has nothing to undo if they are unknown', 'a=compensated b=failed?', 'settle compensated'],
  ]);
});

describe('a step with compensateOnFailure', () => {
  const graph = sequenceOf(stepOf('a'), stepOf('b', { compensateOnFailure: true }));
  table(graph, 'compensating', [
    ['is compensated when it failed permanently', 'a=completed b=failed', 'undo b'],
    ['is undone when its outcome is unknown', 'a=completed b=failed?', 'undo b'],
    ['is not undone when it never ran', 'a=completed b=pending', 'undo a'],
  ]);
});

describe('a diamond going forward', () => {
  table(DIAMOND, 'running', [
    ['forks', 'a=completed', 'run b, run c'],
    ['begins the second branch while the first runs', 'a=completed b=running!', 'run c'],
    ['joins only when both are done', 'a=completed b=completed c=running!', 'wait'],
    ['joins when both are done', 'a=completed b=completed c=completed', 'run d'],
    ['joins past a skipped branch', 'a=completed b=skipped c=completed', 'run d'],
    ['runs one branch while the other waits', 'a=completed b=waiting@900', 'run c, wake 900'],
    ['wakes for the earliest', 'a=completed b=waiting@900 c=waiting@700', 'wake 700'],
    ['wakes for the earliest, wherever it is', 'a=completed b=waiting@700 c=waiting@900', 'wake 700'],
    ['wakes for one branch while the other is running', 'a=completed b=waiting@900 c=running!', 'wake 900'],
    ['completes with its last step', 'a=completed b=completed c=completed d=completed', 'settle completed'],
  ]);
});

describe('a diamond rolling back', () => {
  table(DIAMOND, 'compensating', [
    ['undoes the join first', 'a=completed b=completed c=completed d=completed', 'undo d'],
    [
      'compensates the branches side by side',
      'a=completed b=completed c=completed d=compensated',
      'undo c, undo b',
    ],
    ['undoes one branch while the other settles', 'a=completed b=running! c=completed', 'undo c'],
    ['keeps the fork until both branches are undone', 'a=completed b=compensated c=compensating!', 'wait'],
    ['undoes the fork at last', 'a=completed b=compensated c=failed', 'undo a'],
    [
      'compensates a branch though the other failed permanently',
      'a=completed b=compensation_failed c=completed',
      'undo c',
    ],
    [
      'is not stuck while the other branch waits',
      'a=completed b=compensation_failed c=compensating@900',
      'wake 900',
    ],
    ['is not stuck while the other branch settles', 'a=completed b=compensation_failed c=running!', 'wait'],
    [
      'is stuck when only what is blocked is left',
      'a=completed b=compensation_failed c=compensated',
      'settle stuck',
    ],
    [
      'is stuck when both failed permanently',
      'a=completed b=compensation_failed c=compensation_failed',
      'settle stuck',
    ],
  ]);
});

describe('separate strands rolling back', () => {
  const strands = graphOf(
    stepOf('a'),
    stepOf('b', { after: ['a'] }),
    stepOf('x'),
    stepOf('y', { after: ['x'] }),
  );
  table(strands, 'compensating', [
    ['are undone side by side', 'a=completed b=failed x=completed y=completed', 'undo y, undo a'],
    [
      'are undone whatever the other does',
      'a=completed b=compensation_failed x=completed y=failed',
      'undo x',
    ],
    ['are stuck together in the end', 'a=completed b=compensation_failed x=compensated', 'settle stuck'],
  ]);
});

describe.each<SagaStatus>(['completed', 'compensated', 'aborted', 'stuck', 'suspended', 'paused'])(
  'a saga that is %s',
  (status) => {
    table(SEQUENCE, status, [
      ['does nothing', '', 'wait'],
      ['does nothing, whatever its steps are', 'a=completed b=waiting@1 c=compensating@1', 'wait'],
    ]);
  },
);

describe('a decision', () => {
  it('is the same for the same arguments, and changes none of them', () => {
    const state = stateOf('compensating', 'a=completed b=compensating@900 c=failed?');
    const before = structuredClone(state);
    expect(decide(SEQUENCE, state, 500)).toEqual(decide(SEQUENCE, state, 500));
    expect(state).toEqual(before);
  });

  it('names its steps with all that is needed to run them', () => {
    const [action] = decide(SEQUENCE, stateOf('running', ''), 0).actions;
    expect(action).toEqual({ kind: 'run', key: 'a', node: SEQUENCE.steps.get('a') });
  });
});
