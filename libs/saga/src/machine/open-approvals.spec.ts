import { approvalSignal } from '../definition/graph/saga-graph.js';
import { graphOf, stepOf } from '../../../../test/fixtures/graph-of.js';
import { evolve } from './evolve.js';
import { openApprovals, openApprovalsAfter } from './open-approvals.js';
import { INITIAL, type SagaState, changeState } from './saga-state.js';

const approval = (name: string) => stepOf(name, { kind: 'approval', wait: { signal: approvalSignal(name) } });
const graph = graphOf(
  approval('agree'),
  approval('release'),
  stepOf('reply', { kind: 'signal', wait: { signal: 'reply' } }),
);
const begun = (state: SagaState, step: string, now: number) =>
  evolve(graph, state, { type: 'wait-started', step, now });
const taken = (state: SagaState, step: string) =>
  evolve(graph, state, { type: 'signalled', name: approvalSignal(step), number: 1, payload: '{}' });

test('a step that waits for a decision is open since it began to wait, and one that waits for a signal is not', () => {
  const state = begun(begun(begun(INITIAL, 'agree', 5), 'reply', 6), 'release', 7);
  expect(openApprovals(state)).toEqual([
    { step: 'agree', since: 5 },
    { step: 'release', since: 7 },
  ]);
});

test('it is no more once the decision is taken, or the saga does not run', () => {
  const state = begun(INITIAL, 'agree', 5);
  expect(openApprovals(taken(state, 'agree'))).toEqual([]);
  for (const status of ['paused', 'stuck', 'suspended', 'compensating', 'aborted'] as const)
    expect(openApprovals(changeState(state, { status }))).toEqual([]);
});

test('a change tells all that are open after it, and nothing if they are the same', () => {
  const [one, both] = [begun(INITIAL, 'agree', 5), begun(begun(INITIAL, 'agree', 5), 'release', 7)];
  expect(openApprovalsAfter(one, both)).toEqual(openApprovals(both));
  expect(openApprovalsAfter(both, taken(both, 'release'))).toEqual([{ step: 'agree', since: 5 }]);
  expect(openApprovalsAfter(one, begun(one, 'reply', 8))).toBeUndefined();
  // It waits again, in another round.
  expect(openApprovalsAfter(one, begun(INITIAL, 'agree', 9))).toEqual([{ step: 'agree', since: 9 }]);
});
