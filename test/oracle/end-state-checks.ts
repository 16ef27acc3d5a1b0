import { nodeOf, type SagaGraph } from '../../libs/saga/src/definition/graph/saga-graph.js';
import { decide } from '../../libs/saga/src/machine/decide.js';
import { evolve } from '../../libs/saga/src/machine/evolve.js';
import { isDropped } from './is-dropped.js';
import type { Violation } from './graph-oracle.js';
import { planRollback } from '../../libs/saga/src/machine/plan-rollback.js';
import type { Play } from './model-entries.js';
import { playGraph } from './run-model.js';
import type { RandomGraph } from './random-graph.js';
import type { SagaEvent } from '../../libs/saga/src/machine/saga-event.js';
import { isTerminal, type SagaState, stepState } from '../../libs/saga/src/machine/saga-state.js';

/** By what can still be done to a saga that was played: nothing that is over, everything that is stuck. */
export const LASTING = [
  'that ends for good stays as it is, whatever comes late',
  'takes no notice of what does not fit, at any moment',
  'that needs an operator can be brought to its end by one',
  'is undone as it was planned to be',
] as const;

/** More calls than an operator needs who retries and then resolves the steps that failed again. */
const CALLS = 60;
/**
 * The number of moments at which stray events are tried, besides the first at which the saga needs an
 * operator.
 */
const MOMENTS = 4;

export function aftermath(saga: RandomGraph, play: Play): Violation | undefined {
  const { graph } = saga;
  const at = play.entries.length;
  const events = play.entries.flatMap((entry) => (entry.type === 'event' ? [entry] : []));
  if (isTerminal(play.end.status)) {
    // A completed saga may be undone after all.
    const happened = events.map(({ event }) => event).filter(({ type }) => type !== 'undone');
    const [late] = changing(graph, play.end, [...happened, ...strayEvents(graph, play.end)]);
    if (late) return { promise: LASTING[0], what: JSON.stringify(late), at };
  }
  const states = events.map(({ after }) => after);
  const held = states.findIndex(({ status }) => status === 'stuck' || status === 'suspended');
  for (let moment = 0; moment <= MOMENTS; moment += 1) {
    const index = moment === 0 ? held : Math.floor((states.length * moment) / MOMENTS) - 1;
    const state = states[index];
    const [stray] = state ? changing(graph, state, strayEvents(graph, state)) : [];
    if (stray) {
      const entry = play.entries.indexOf(events[index]!);
      return { promise: LASTING[1], what: JSON.stringify(stray), at: entry };
    }
    const unplanned = state && planned(graph, stored(state));
    if (unplanned !== undefined) {
      const entry = play.entries.indexOf(events[index]!);
      return { promise: LASTING[3], what: unplanned, at: entry };
    }
  }
  const left = isTerminal(play.end.status) ? undefined : brought(saga, play.end);
  return left === undefined ? undefined : { promise: LASTING[2], what: left, at };
}

/** Turns a saga back where it stands, and lets everything go well: how it differs from its plan, if it does. */
function planned(graph: SagaGraph, state: SagaState): string | undefined {
  if (state.status === 'compensated' || state.status === 'aborted') return undefined;
  const { pivot, undecided, compensations } = planRollback(graph, state);
  // Whether it is carried out, the pivot decides.
  if (pivot !== undefined || undecided !== undefined) return undefined;
  const back: SagaEvent = {
    type:
      state.status === 'completed' ? 'undone' : state.heldPhase === 'compensating' ? 'retried' : 'cancelled',
  };
  const { entries } = playGraph({ graph, moves: [] }, evolve(graph, state, back));
  const asked = [...state.steps.values()].flatMap(({ child }) =>
    child?.phase === 'cancelling' || child?.phase === 'undoing' ? [child.id] : [],
  );
  // One that was stuck on its way to a savepoint goes forward from there.
  const resumed = entries.findIndex((entry) => entry.type === 'event' && entry.event.type === 'resumed');
  const undone = entries.slice(0, resumed < 0 ? undefined : resumed).flatMap((entry) => {
    if (entry.type === 'started') return entry.attempt.kind === 'compensate' ? [entry.attempt.key] : [];
    const isAsked = entry.type === 'child' && /^was (cancelled|to be undone)$/.test(entry.what);
    return isAsked ? [entry.child.id] : [];
  });
  const plan = compensations.map(({ key, child }) => child ?? key);
  undone.push(...asked);
  return plan.sort().join() === undone.sort().join()
    ? undefined
    : `[${plan.join()}], and it was [${undone.join()}]`;
}

/** The state as a reader finds it: without attempts in progress. */
function stored(state: SagaState): SagaState {
  const steps = [...state.steps].map(([key, step]) => [key, { ...step, active: false }] as const);
  return { ...state, steps: new Map(steps) };
}

/** Retries all steps, then skips those that fail again. @returns why the saga still does not end */
function brought(saga: RandomGraph, from: SagaState): string | undefined {
  let state = from;
  for (let call = 0; call < CALLS; call += 1) {
    const failed = [...state.steps].filter(
      ([name, { status }]) =>
        status === 'compensation_failed' ||
        (status === 'failed' && !isGone(state, name) && state.heldPhase === 'running'),
    );
    // Items before their step, which goes on with them.
    const key = failed.map(([name]) => name).sort((a, b) => b.length - a.length)[
      Math.floor(call / 2) % (failed.length || 1)
    ];
    const event: SagaEvent =
      call % 2 === 0 || key === undefined
        ? { type: 'retried' }
        : { type: 'operator-resolved', step: key, result: '1' };
    const called = evolve(saga.graph, state, event);
    if (called === state) continue;
    const play = playGraph({ ...saga, moves: [] }, called);
    state = play.end;
    if (isTerminal(state.status)) return undefined;
  }
  return `${state.status} after ${CALLS} calls`;
}

function isGone(state: SagaState, key: string): boolean {
  return isDropped(stepState(state, key.replace(/\[.*/, '')));
}

/** Those of the events that change the state. */
function changing(graph: SagaGraph, state: SagaState, events: readonly SagaEvent[]): SagaEvent[] {
  return events.filter((event) => evolve(graph, state, event) !== state);
}

/**
 * Events of attempts without a waiter, starts of ended steps, and every settlement other than the decided
 * one.
 */
function strayEvents(graph: SagaGraph, state: SagaState): SagaEvent[] {
  const failure = { error: { name: 'Error', message: 'late' }, retryable: true, now: 0, random: 0 };
  const events = [...new Set([...graph.steps.keys(), ...state.steps.keys()])].flatMap((step): SagaEvent[] => {
    const { active, status, wait } = stepState(state, step);
    const stray: SagaEvent[] = [];
    if (!active) {
      stray.push(
        { type: 'step-completed', step, result: '"late"', now: 0 },
        { type: 'step-failed', step, kind: 'timeout', unknown: true, ...failure },
        { type: 'compensation-completed', step },
        { type: 'compensation-requested', step, now: 0 },
      );
      // One that waits for its reply has not got it in time.
      const isAsked = status === 'compensating' && wait !== undefined;
      if (!isAsked) stray.push({ type: 'compensation-failed', step, ...failure });
    }
    if (!['pending', 'waiting', 'running'].includes(status)) {
      stray.push(
        { type: 'step-started', step },
        { type: 'condition-false', step },
        { type: 'fan-out-started', step, items: ['1'] },
        { type: 'delay-started', step, until: 1 },
      );
    }
    if (status !== 'running') stray.push({ type: 'probe-started', step });
    if (!['completed', 'failed', 'compensating'].includes(status))
      stray.push({ type: 'compensation-started', step });
    stray.push(...strayOfSlots(graph, state, step));
    return [...stray, ...strayOfChildren(state, step), ...strayOfWaits(graph, state, step)];
  });
  if (state.status !== 'completed') events.push({ type: 'undone' });
  if (state.turn === undefined || state.turn === 'begun') events.push({ type: 'begun' });
  if (graph.rateLimit === undefined || state.turn === 'begun' || state.status !== 'running')
    events.push({ type: 'turn-granted', at: 1 });
  const { settle } = decide(graph, state, 0);
  const rests = (['completed', 'compensated', 'stuck', 'suspended'] as const).filter(
    (status) => status !== settle,
  );
  events.push(...rests.map((status) => ({ type: 'settled', status }) as const));
  if (settle !== 'resumed') events.push({ type: 'resumed' });
  return events;
}

/** What was sent before, what is over, and what begins to be waited for twice. */
function strayOfWaits(graph: SagaGraph, state: SagaState, step: string): SagaEvent[] {
  const node = graph.steps.get(step);
  if (node?.wait === undefined) return [];
  const { signal: name } = node.wait;
  const number = state.lastTakenSignals?.[name] ?? 0;
  const error = { name: 'Error', message: 'late' };
  const { status, wait, pruned } = stepState(state, step);
  const isWaiting = state.status === 'running' && status === 'waiting' && !pruned && wait !== undefined;
  const stray: SagaEvent[] = [
    { type: 'signalled', name, number, payload: '"late"' },
    { type: 'refused', name, number, error, now: 0 },
    { type: 'wait-expired', step, now: (wait?.until ?? 0) - 1 },
  ];
  if (wait !== undefined || state.status !== 'running') stray.push({ type: 'wait-started', step, now: 0 });
  if (!isWaiting || wait.takenSignal !== undefined) stray.push({ type: 'wait-expired', step, now: 10 ** 9 });
  return stray;
}

/** Slots for a step that has no limit, is not to begin, or waits already; and one that it does not wait for. */
function strayOfSlots(graph: SagaGraph, state: SagaState, step: string): SagaEvent[] {
  const known = stepState(state, step);
  const { status, active, slot } = known;
  const isWaiting = status === 'waiting' && slot !== undefined;
  const isLimited = nodeOf(graph, step).limit !== undefined;
  const mayBegin = state.status === 'running' && !active && ['pending', 'waiting'].includes(status);
  const isNeeded = !isGone(state, step);
  const stray: SagaEvent[] = [];
  if (isWaiting || !isLimited || !mayBegin || !isNeeded)
    stray.push({ type: 'slot-awaited', step, key: 'late', now: 10 ** 9 });
  if (!isWaiting) stray.push({ type: 'slot-granted', step });
  return stray;
}

/** Events of a saga that the step does not wait for. */
function strayOfChildren({ status, steps }: SagaState, step: string): SagaEvent[] {
  const { child, active } = steps.get(step) ?? { active: false };
  const ends = (['completed', 'compensated', 'aborted'] as const).map((end) => {
    return { type: 'child-ended', step, child: 'another', status: end, now: 0 } as const;
  });
  const stray: SagaEvent[] = [
    ...ends,
    { type: 'child-cancelling', step, child: 'another' },
    { type: 'child-undoing', step, child: 'another' },
  ];
  if (!active) stray.push({ type: 'child-started', step, child: 'another' });
  if (child === undefined) return stray;
  const { id, phase } = child;
  const isHeld = status !== 'running' && status !== 'compensating';
  const goesOn = phase === 'running' || phase === 'cancelling' || phase === 'undoing';
  if (isHeld || !goesOn) stray.push(...ends.map((end) => ({ ...end, child: id })));
  if (goesOn) stray.push({ type: 'step-started', step }, { type: 'condition-false', step });
  if (isHeld && goesOn) stray.push({ type: 'operator-resolved', step, result: '"manual"' });
  if (phase !== 'running') stray.push({ type: 'child-cancelling', step, child: id });
  if (!active) stray.push({ type: 'child-undoing', step, child: id });
  return stray;
}
