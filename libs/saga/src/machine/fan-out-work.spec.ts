import { indexOfKey, itemKey } from '../definition/graph/saga-graph.js';
import { decide } from './decide.js';
import { describeStep } from './describe-step.js';
import { evolve } from './evolve.js';
import { graphOf, stepOf } from '../../../../test/fixtures/graph-of.js';
import type { SagaEvent } from './saga-event.js';
import { INITIAL, type SagaState, stepState } from './saga-state.js';
import { changedSteps } from './data/step-map.js';
import { StepTree } from './data/step-tree.js';

const GRAPH = graphOf(stepOf('each', { forEach: () => [] }), stepOf('end', { after: ['each'] }));

/**
 * How many states, parts of trees and entries of maps are looked at while this is done: what a saga of many items costs,
 * whatever the machine.
 */
function work(play: () => void): number {
  const { get, set } = Map.prototype;
  const { search, with: change } = StepTree.prototype;
  let looks = 0;
  Map.prototype.get = function (this: Map<unknown, unknown>, key: unknown) {
    looks += 1;
    return get.call(this, key) as unknown;
  };
  Map.prototype.set = function (this: Map<unknown, unknown>, key: unknown, value: unknown) {
    looks += 1;
    return set.call(this, key, value) as Map<unknown, unknown>;
  };
  StepTree.prototype.with = function (this: StepTree, ...args) {
    looks += 1;
    return change.apply(this, args);
  };
  StepTree.prototype.search = function (this: StepTree, limit, wants, look) {
    return search.call(
      this,
      limit,
      (part) => {
        looks += 1;
        return wants(part);
      },
      (index, step) => {
        looks += 1;
        return look(index, step);
      },
    );
  };
  try {
    play();
  } finally {
    Object.assign(Map.prototype, { get, set });
    Object.assign(StepTree.prototype, { search, with: change });
  }
  return looks;
}

/** Carries out what is decided, until this ends it; as a run does: decide, begin, end, checkpoint. */
function playOut(given: SagaState, ended: (key: string, state: SagaState) => SagaEvent): SagaState {
  let state = given;
  let saved = given;
  for (let now = 0; ;) {
    const decision = decide(GRAPH, state, now);
    const { actions, settle, wakeAt } = decision;
    if (settle !== undefined) return evolve(GRAPH, state, { type: 'settled', status: settle as 'completed' });
    if (actions.length === 0) now = wakeAt!;
    for (const { kind, key } of actions) {
      const type = kind === 'compensate' ? 'compensation-started' : 'step-started';
      state = evolve(GRAPH, state, { type, step: key });
    }
    decide(GRAPH, state, now);
    for (const { key } of actions) state = evolve(GRAPH, state, ended(key, state));
    describeStep(GRAPH, state, decision);
    changedSteps(saved.steps, state.steps);
    saved = state;
  }
}

const expanded = (count: number): SagaState =>
  evolve(GRAPH, INITIAL, { type: 'fan-out-started', step: 'each', items: Array<string>(count).fill('0') });

const completes = (step: string): SagaEvent => ({ type: 'step-completed', step, result: '1' });
const undoes = (step: string): SagaEvent => ({ type: 'compensation-completed', step });
const failure = { error: { name: 'E', message: 'e' }, now: 0 } as const;
const fails = (step: string, retryable: boolean, random = 0): SagaEvent => ({
  ...{ type: 'step-failed', step, kind: 'error', unknown: false, retryable, random },
  ...failure,
});
const isCompensating = ({ status }: SagaState) => status === 'compensating';
/** From the same seed, the same waits. */
const chanceOf = (step: string) => (((indexOfKey(step) ?? 0) * 7_919) % 1_000) / 1_000;

/** The step behind the items fails for good: all of them are undone. */
const failsAtTheEnd = (step: string, state: SagaState): SagaEvent => {
  if (isCompensating(state)) return undoes(step);
  return step === 'end' ? fails(step, false) : completes(step);
};

/** Each item fails at first: all of them wait for another attempt, each for a time of its own. */
const retries = (step: string, state: SagaState): SagaEvent =>
  step !== 'end' && stepState(state, step).attempts === 1
    ? fails(step, true, chanceOf(step))
    : completes(step);

/** The work of the compensations. */
const undoesAgain = (step: string, state: SagaState): SagaEvent => {
  if (!isCompensating(state) || stepState(state, step).compensationAttempts > 1)
    return failsAtTheEnd(step, state);
  return { type: 'compensation-failed', step, retryable: true, random: chanceOf(step), ...failure };
};

/** Every other compensation fails for good. */
const undoesHalf = (step: string, state: SagaState): SagaEvent =>
  isCompensating(state) && indexOfKey(step)! % 2 === 0
    ? { type: 'compensation-failed', step, retryable: false, random: 0, ...failure }
    : failsAtTheEnd(step, state);

describe('a step over many items', () => {
  test.each([
    ['all of which complete', completes, 'completed'],
    ['all of which are undone', failsAtTheEnd, 'compensated'],
    ['all of which fail at first', retries, 'completed'],
    ['the compensations of which all fail at first', undoesAgain, 'compensated'],
    ['half of the compensations of which fail permanently', undoesHalf, 'stuck'],
  ] as const)('%s, costs the same for each item, however many there are', (_, ended, status) => {
    const play = (count: number) => {
      const state = playOut(expanded(count), ended);
      expect(state.status).toBe(status);
      expect([...state.steps.keys()].filter((key) => indexOfKey(key) !== undefined)).toHaveLength(count);
    };
    const perItem = (count: number) => work(() => play(count)) / count;
    const [few, many] = [perItem(500), perItem(8_000)];
    // Two more levels of a tree, and not 16 times as much.
    expect(many / few).toBeLessThan(2);
  });

  test('costs about nothing to take over from a lost worker, however many there are', () => {
    const lost = (count: number) => {
      let state = expanded(count);
      for (let index = 0; index < count / 2; index += 1)
        for (const type of ['step-started', 'step-completed'] as const)
          state = evolve(GRAPH, state, { type, step: itemKey('each', index) });
      return work(() => evolve(GRAPH, state, { type: 'taken-over', count: 1, bound: 3, now: 0 }));
    };
    expect(lost(8_000)).toBeLessThan(2 * lost(500));
  });
});
