import fc from 'fast-check';
import { graphOf, sequenceOf, stepOf } from '../../../../test/fixtures/graph-of.js';
import { decide } from './decide.js';
import type { MachineDecision } from './plan.js';
import { evolve } from './evolve.js';
import { openSteps } from './open-steps.js';
import type { SagaEvent } from './saga-event.js';
import { type SagaState, stepState } from './saga-state.js';
import { StepMap } from './data/step-map.js';

const STEPS = 90;
const RUNS = Number(process.env.OPEN_STEPS_RUNS ?? 60);

/** Many steps, each after some of those before it. */
const graphs = fc
  .array(
    fc.record({
      reach: fc.integer({ min: 1, max: 8 }),
      count: fc.integer({ min: 0, max: 3 }),
      isRace: fc.boolean(),
    }),
    { minLength: STEPS, maxLength: STEPS },
  )
  .map((steps) =>
    graphOf(
      ...steps.map(({ reach, count, isRace }, place) => {
        const after = Array.from({ length: count }, (_, n) => place - 1 - ((reach + n * reach) % 9));
        const names = [...new Set(after.filter((n) => n >= 0))].map((n) => `s${n}`);
        return stepOf(`s${place}`, { after: names, join: isRace ? 'any' : 'all' });
      }),
    ),
  );

/** What happens next, chosen by numbers. */
const choices = fc.array(fc.nat(), { minLength: 50, maxLength: 400 });

function eventOf(state: SagaState, decision: MachineDecision, choice: number): SagaEvent {
  const now = 10_000_000;
  if (decision.settle) return { type: 'settled', status: decision.settle } as SagaEvent;
  if (decision.events?.[0]) return decision.events[0];
  const active = [...state.steps].filter(([, step]) => step.active).map(([key]) => key);
  const due = decision.actions;
  const [which, how] = [choice % (active.length + due.length || 1), Math.floor(choice / 1_000) % 12];
  if (which >= active.length && due.length > 0) {
    const { key, kind } = due[which - active.length]!;
    return { type: kind === 'compensate' ? 'compensation-started' : 'step-started', step: key };
  }
  const step = active[which];
  if (step === undefined) return { type: 'retried' };
  const error = { name: 'Error', message: 'no' };
  const failed = { step, error, now: 0, random: 0 };
  if (stepState(state, step).status === 'compensating')
    return how === 0
      ? { type: 'compensation-failed', ...failed, retryable: false }
      : { type: 'compensation-completed', step };
  if (how === 0) return { type: 'step-failed', ...failed, kind: 'error', unknown: false, retryable: true };
  if (how === 1 && choice % 7 === 0)
    return { type: 'step-failed', ...failed, kind: 'rejected', unknown: false, retryable: false };
  if (how === 2) return { type: 'interrupted', now };
  return { type: 'step-completed', step, result: '1' };
}

describe('a saga of many steps', () => {
  test('does next what it would if all its steps were looked at, after any history and at any earlier state', () => {
    const settled = new Set<string>();
    fc.assert(
      fc.property(graphs, choices, (graph, chosen) => {
        const state0: SagaState = { status: 'running', steps: StepMap.of([]) } as unknown as SagaState;
        let state = state0;
        const states = [state0];
        for (const choice of chosen) {
          const decision = decide(graph, state, 10_000_000);
          expect(decision).toEqual(decide(graph, { ...state, steps: new Map(state.steps) }, 10_000_000));
          state = evolve(graph, state, eventOf(state, decision, choice));
          states.push(state);
          settled.add(state.status);
          // States of earlier, and what else could have followed from them.
          if (choice % 17 === 0) state = states[choice % states.length]!;
        }
      }),
      { numRuns: RUNS, seed: 7 },
    );
    expect([...settled]).toEqual(expect.arrayContaining(['running', 'compensating', 'stuck']));
  });

  test('looks only at the steps that may begin or go on', () => {
    const graph = sequenceOf(...Array.from({ length: STEPS }, (_, n) => stepOf(`s${n}`)));
    let state = { status: 'running', steps: StepMap.of([]) } as unknown as SagaState;
    for (let n = 0; n < 70; n += 1) {
      expect([...openSteps(graph, state).nodes].map(({ name }) => name)).toEqual([`s${n}`]);
      state = evolve(graph, state, { type: 'step-started', step: `s${n}` });
      state = evolve(graph, state, { type: 'step-completed', step: `s${n}`, result: '1' });
    }
  });
});
