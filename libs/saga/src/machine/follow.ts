import type { SagaGraph } from '../definition/graph/saga-graph.js';
import { decide } from './decide.js';
import type { MachineDecision } from './plan.js';
import { evolve } from './evolve.js';
import type { SagaEvent } from './saga-event.js';
import type { SagaState } from './saga-state.js';

/** What remains to be done once everything has happened that follows without doing anything. */
export interface Followed {
  readonly state: SagaState;
  readonly decision: MachineDecision & { readonly settle?: Exclude<MachineDecision['settle'], 'resumed'> };
  /** What happened on the way. */
  readonly events: readonly SagaEvent[];
}

const RESUMED: SagaEvent = { type: 'resumed' };

/** What a step of this state has been sent. Undefined: nothing. */
export type SignalFor = (state: SagaState) => SagaEvent | undefined;

/**
 * Lets delays and waits begin, times pass, and a saga that is back at its savepoint go forward again. What steps have been sent is
 * theirs before their time passes.
 */
export function follow(graph: SagaGraph, given: SagaState, now: number, signalFor?: SignalFor): Followed {
  const events: SagaEvent[] = [];
  let state = given;
  for (;;) {
    for (let signal = signalFor?.(state); signal; signal = signalFor?.(state)) {
      state = evolve(graph, state, signal);
      events.push(signal);
    }
    const decision = decide(graph, state, now);
    const { settle, events: next = settle === 'resumed' ? [RESUMED] : [] } = decision;
    if (next.length === 0) return { state, decision: decision as Followed['decision'], events };
    for (const event of next) state = evolve(graph, state, event);
    events.push(...next);
  }
}
