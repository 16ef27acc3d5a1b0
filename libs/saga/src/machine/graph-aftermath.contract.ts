import type { SagaGraph } from '../definition/saga-graph.js';
import { decide } from './decide.js';
import { evolve } from './evolve.js';
import type { Violation } from './graph-oracle.contract.js';
import { type Play, playGraph } from './play-graph.contract.js';
import type { RandomGraph } from './random-graph.contract.js';
import type { SagaEvent } from './saga-event.js';
import { isTerminal, type SagaState, stepState } from './saga-state.js';

/** By what can still be done to a saga that was played: nothing that is over, everything that is stuck. */
export const LASTING = [
  'that ends for good stays as it is, whatever comes late',
  'takes no notice of what does not fit, at any moment',
  'that needs an operator can be brought to its end by one',
] as const;

/** More than any operator needs who retries, and then does by hand what failed again. */
const CALLS = 60;
/** Moments of a play at which what does not fit is tried. */
const MOMENTS = 4;

export function aftermath(saga: RandomGraph, play: Play): Violation | undefined {
  const { graph } = saga;
  const at = play.entries.length;
  const events = play.entries.flatMap((entry) => (entry.type === 'event' ? [entry] : []));
  if (isTerminal(play.end.status)) {
    const [late] = changing(graph, play.end, [
      ...events.map(({ event }) => event),
      ...strayEvents(graph, play.end),
    ]);
    if (late) return { promise: LASTING[0], what: JSON.stringify(late), at };
  }
  const states = events.map(({ after }) => after);
  for (let moment = 1; moment <= MOMENTS; moment += 1) {
    const index = Math.floor((states.length * moment) / MOMENTS) - 1;
    const state = states[index];
    const [stray] = state ? changing(graph, state, strayEvents(graph, state)) : [];
    if (stray) {
      const entry = play.entries.indexOf(events[index]!);
      return { promise: LASTING[1], what: JSON.stringify(stray), at: entry };
    }
  }
  const left = isTerminal(play.end.status) ? undefined : brought(saga, play.end);
  return left === undefined ? undefined : { promise: LASTING[2], what: left, at };
}

/** Retries all, and what fails again by hand; why it does not help, if it does not. */
function brought(saga: RandomGraph, from: SagaState): string | undefined {
  let state = from;
  for (let call = 0; call < CALLS; call += 1) {
    const gaveUp = [...state.steps].filter(
      ([name, { status }]) =>
        status === 'compensation_failed' ||
        (status === 'failed' && !isCut(state, name) && state.stuckIn === 'running'),
    );
    // Items before their step, which goes on with them.
    const key = gaveUp.map(([name]) => name).sort((a, b) => b.length - a.length)[
      Math.floor(call / 2) % (gaveUp.length || 1)
    ];
    const event: SagaEvent =
      call % 2 === 0 || key === undefined ? { type: 'retried' } : { type: 'skipped', step: key, result: '1' };
    const called = evolve(saga.graph, state, event);
    if (called === state) continue;
    const play = playGraph({ ...saga, moves: [] }, called);
    state = play.end;
    if (isTerminal(state.status)) return undefined;
  }
  return `${state.status} after ${CALLS} calls`;
}

function isCut(state: SagaState, key: string): boolean {
  return stepState(state, key.replace(/\[.*/, '')).cut;
}

/** Those of the events that change the state. */
function changing(graph: SagaGraph, state: SagaState, events: readonly SagaEvent[]): SagaEvent[] {
  return events.filter((event) => evolve(graph, state, event) !== state);
}

/** Everything about attempts that nobody waits for, beginnings of what is over, and every rest but the one decided. */
function strayEvents(graph: SagaGraph, state: SagaState): SagaEvent[] {
  const failure = { error: { name: 'Error', message: 'late' }, retryable: true, now: 0, random: 0 };
  const events = [...new Set([...graph.steps.keys(), ...state.steps.keys()])].flatMap((step): SagaEvent[] => {
    const { active, status } = stepState(state, step);
    const stray: SagaEvent[] = [];
    if (!active) {
      stray.push(
        { type: 'step-completed', step, result: '"late"', now: 0 },
        { type: 'step-failed', step, kind: 'timeout', unknown: true, ...failure },
        { type: 'compensation-completed', step },
        { type: 'compensation-failed', step, ...failure },
      );
    }
    if (!['pending', 'waiting', 'running'].includes(status)) {
      stray.push(
        { type: 'step-started', step },
        { type: 'skipped-by-condition', step },
        { type: 'expanded', step, items: ['1'] },
        { type: 'delayed', step, until: 1 },
      );
    }
    if (status !== 'running') stray.push({ type: 'probe-started', step });
    if (!['completed', 'failed', 'compensating'].includes(status))
      stray.push({ type: 'compensation-started', step });
    return stray;
  });
  const { settle } = decide(graph, state, 0);
  const rests = (['completed', 'compensated', 'stuck', 'suspended'] as const).filter(
    (status) => status !== settle,
  );
  events.push(...rests.map((status) => ({ type: 'settled', status }) as const));
  if (settle !== 'resumed') events.push({ type: 'resumed' });
  return events;
}
