import { indexOfKey } from '../definition/graph/saga-graph.js';
import { decide } from './decide.js';
import { evolve } from './evolve.js';
import { graphOf, stepOf } from '../../../../test/fixtures/graph-of.js';
import type { SagaEvent } from './saga-event.js';
import { INITIAL, type SagaState } from './saga-state.js';
import { changedSteps } from './step-map.js';

const GRAPH = graphOf(stepOf('each', { forEach: () => [] }), stepOf('end', { after: ['each'] }));

/** How often maps are read and written while this is done: what a saga of many items costs, whatever the machine. */
function work(play: () => void): number {
  const { get, set } = Map.prototype;
  let calls = 0;
  Map.prototype.get = function (this: Map<unknown, unknown>, key: unknown) {
    calls += 1;
    return get.call(this, key) as unknown;
  };
  Map.prototype.set = function (this: Map<unknown, unknown>, key: unknown, value: unknown) {
    calls += 1;
    return set.call(this, key, value) as Map<unknown, unknown>;
  };
  try {
    play();
  } finally {
    Object.assign(Map.prototype, { get, set });
  }
  return calls;
}

/** Carries out what is decided, until this ends it; as a run does: decide, begin, end, checkpoint. */
function playOut(given: SagaState, ended: (key: string) => SagaEvent): SagaState {
  let state = given;
  let saved = given;
  for (;;) {
    const { actions, settle } = decide(GRAPH, state, 0);
    if (settle !== undefined) return evolve(GRAPH, state, { type: 'settled', status: settle as 'completed' });
    for (const { kind, key } of actions) {
      const type = kind === 'compensate' ? 'compensation-started' : 'step-started';
      state = evolve(GRAPH, state, { type, step: key });
    }
    decide(GRAPH, state, 0);
    for (const { key } of actions) state = evolve(GRAPH, state, ended(key));
    changedSteps(saved.steps, state.steps);
    saved = state;
  }
}

const expanded = (count: number): SagaState =>
  evolve(GRAPH, INITIAL, { type: 'fan-out-started', step: 'each', items: Array<string>(count).fill('0') });

const completes = (step: string): SagaEvent => ({ type: 'step-completed', step, result: '1' });

/** The step behind the items fails for good: all of them are undone. */
const failsAtTheEnd = (step: string): SagaEvent =>
  step === 'end'
    ? {
        ...{ type: 'step-failed', step, kind: 'error', error: { name: 'E', message: 'e' } },
        ...{ unknown: false, retryable: false, now: 0, random: 0 },
      }
    : completes(step);

const undoes = (step: string): SagaEvent => ({ type: 'compensation-completed', step });

describe('a step over many items', () => {
  test.each([
    ['all of which complete', completes, 'completed'],
    ['all of which are undone', failsAtTheEnd, 'compensated'],
  ] as const)('%s, costs about the same for each item, however many there are', (_, ended, status) => {
    const play = (count: number) => {
      let compensating = false;
      const state = playOut(expanded(count), (step) => {
        const event = compensating ? undoes(step) : ended(step);
        if (event.type === 'step-failed') compensating = true;
        return event;
      });
      expect(state.status).toBe(status);
      expect([...state.steps.keys()].filter((key) => indexOfKey(key) !== undefined)).toHaveLength(count);
    };
    const perItem = (count: number) => work(() => play(count)) / count;
    const [few, many] = [perItem(250), perItem(4_000)];
    // Sixteen times as many items: by the square root of that at most, and not by sixteen.
    expect(many / few).toBeLessThan(5);
  });
});
