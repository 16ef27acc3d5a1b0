import {
  canBeUndone,
  nodeOf,
  type SagaGraph,
  type StepNode,
  stepOfKey,
} from '../definition/graph/saga-graph.js';
import type { SagaFailure } from '../definition/types/saga-failure.js';
import { decide } from './decide.js';
import {
  backsOff,
  isBarred,
  isDone,
  isDropped,
  isUndecided,
  mayStart,
  needsUndo,
  pivotPassed,
} from './predicates.js';
import {
  compensationFailed,
  decidePending,
  isAttemptInProgress,
  overtaken,
  startWithdrawn,
  stepFailed,
} from './failures.js';
import { descendantsOf, relationsOf } from './graph-relations.js';
import { interrupted, takenOver } from './lost-workers.js';
import { barPivots, barredPivots, isPartlyCompensated, passedPivot } from './pivots.js';
import { uncut } from './join-any.js';
import type { EventOf, SagaEvent } from './saga-event.js';
import {
  awaitsChild,
  isInProgress,
  isTerminal,
  needsOperator,
  type SagaState,
  type StepState,
  stepState,
  changeState,
  changeStep,
} from './saga-state.js';
import { rescheduled } from './reschedule.js';
import { resume, startTurningBack } from './savepoints.js';
import { giveUp, mapSteps, whatCame, withStep } from './step-changes.js';
import { FAILED, KIND, TIMED } from './data/step-kinds.js';
import { itemsOf, stepsOfKinds } from './data/step-map.js';
import { compensated, completed, completedFanOuts } from './step-endings.js';
import { childAsked, childEnded, childStarted } from './sub-sagas.js';
import { incompatible } from './missing-code.js';
import { slotAwaited, slotGranted } from './slots.js';
import { turnGranted } from './turn.js';
import { refused, replied, requested, signalled, startWait, waitExpired } from './waits.js';

type Transitions = {
  [T in SagaEvent['type']]: (graph: SagaGraph, state: SagaState, event: EventOf<T>) => SagaState;
};

/** The machine's table: what each event does. An event that does not fit the state leaves it as it is. */
const TRANSITIONS: Transitions = {
  'step-started': (_, state, { step }) =>
    mayStart(state, step)
      ? withStep(state, step, {
          status: 'running',
          attempts: stepState(state, step).attempts + 1,
          retryAt: undefined,
          permit: undefined,
          slot: undefined,
          active: true,
        })
      : state,

  'start-withdrawn': startWithdrawn,

  'step-completed': (graph, state, { step, result }) =>
    isAttemptInProgress(state, step, 'running') ? completed(graph, state, step, result) : state,

  'step-failed': stepFailed,

  'condition-false': (_, state, { step }) =>
    mayStart(state, step) && stepState(state, step).status !== 'running'
      ? withStep(state, step, { status: 'skipped', unknown: false, retryAt: undefined, slot: undefined })
      : state,

  'fan-out-started': (graph, state, { step, items }) => {
    const isFanOut = graph.steps.get(step)?.forEach !== undefined;
    if (!isFanOut || !mayStart(state, step) || stepState(state, step).items !== undefined) return state;
    const next = withStep(state, step, { status: 'running', retryAt: undefined, items });
    return items.length === 0 ? completed(graph, next, step, undefined) : next;
  },

  'delay-started': (_, state, { step, until }) =>
    mayStart(state, step) && stepState(state, step).status === 'pending'
      ? withStep(state, step, { status: 'waiting', retryAt: until })
      : state,

  'wait-started': (graph, state, event) => {
    const { wait } = stepState(state, event.step);
    const waits = graph.steps.get(event.step)?.wait !== undefined && wait === undefined;
    return waits && mayStart(state, event.step) ? startWait(graph, state, event) : state;
  },

  signalled,

  refused,

  'wait-expired': waitExpired,

  'rate-limit-granted': (_, state, { step, at, key }) =>
    mayStart(state, step)
      ? withStep(state, step, {
          status: 'waiting',
          retryAt: at,
          permit: at,
          ...(key !== undefined && { limitKey: key }),
        })
      : state,

  'slot-awaited': slotAwaited,

  'slot-granted': slotGranted,

  'turn-granted': turnGranted,

  begun: (_, state) => (typeof state.turn === 'object' ? changeState(state, { turn: 'begun' }) : state),

  'probe-started': (graph, state, { step }) => {
    const { status, active } = stepState(state, step);
    const mayAsk =
      !needsOperator(state.status) && state.status !== 'paused' && nodeOf(graph, step).probe !== undefined;
    return mayAsk && status === 'running' && !active ? withStep(state, step, { active: true }) : state;
  },

  'compensation-started': (graph, state, { step }) =>
    mayBeUndone(graph, state, step)
      ? withStep(state, step, {
          status: 'compensating',
          compensationAttempts: stepState(state, step).compensationAttempts + 1,
          retryAt: undefined,
          wait: undefined,
          active: true,
        })
      : state,

  'compensation-requested': requested,

  'reply-received': replied,

  'compensation-completed': (graph, state, { step }) =>
    isAttemptInProgress(state, step, 'compensating') ? compensated(graph, state, step) : state,

  'compensation-failed': compensationFailed,

  resumed: (graph, state) =>
    state.rollbackTo !== undefined && decide(graph, state, 0).settle === 'resumed'
      ? resume(graph, state)
      : state,

  expired: (graph, state, { now }) =>
    decide(graph, state, now).events?.some(({ type }) => type === 'expired')
      ? startTurningBack(graph, state, { kind: 'timeout', reason: 'the deadline of the saga has passed' })
      : state,

  'child-started': childStarted,

  'child-cancelling': (_, state, event) => childAsked(state, event, 'cancelling'),

  'child-undoing': (_, state, event) => childAsked(state, event, 'undoing'),

  'child-ended': childEnded,

  interrupted: (graph, state, { now }) => interrupted(graph, state, now),

  'taken-over': takenOver,

  cancelled: (graph, state, { reason, accepted }) => {
    const failure: SagaFailure = { kind: 'cancelled', reason };
    const passed = passedPivot(graph, state);
    if (passed !== undefined) return accepted ? overtaken(state, failure, passed) : state;
    // A request is found again by each worker that takes the saga over.
    const { pendingRollback } = state;
    if (pendingRollback && pendingRollback.rollbackTo === undefined && !needsOperator(state.status))
      return state;
    const mayTurnBack =
      state.status === 'running' ||
      state.status === 'suspended' ||
      state.heldPhase === 'running' ||
      (inWhich(state) === 'compensating' && state.rollbackTo !== undefined && !needsOperator(state.status));
    return mayTurnBack ? startTurningBack(graph, withoutRetries(graph, state), failure) : state;
  },

  'code-missing': (_, state, event) => incompatible(state, event),

  deadlocked: (graph, state, { error }) => {
    if (state.status === 'running') return startTurningBack(graph, state, { kind: 'error', error });
    // What it did is still to be undone, by an operator's retry.
    return state.status === 'compensating'
      ? changeState(state, {
          status: 'stuck',
          heldPhase: 'compensating',
          failure: { ...state.failure!, error },
        })
      : state;
  },

  paused: (_, state) =>
    isInProgress(state.status) && !isAnyActive(state)
      ? changeState(state, { status: 'paused', heldPhase: state.status })
      : state,

  unpaused: (_, state) =>
    state.status === 'paused' ? changeState(state, { status: inWhich(state), heldPhase: undefined }) : state,

  aborted: (_, state, { reason }) =>
    changeState(state, {
      status: 'aborted',
      heldPhase: undefined,
      rollbackTo: undefined,
      failure: state.failure ?? { kind: 'cancelled', reason },
    }),

  undone: (graph, state, { reason }) =>
    state.status === 'completed' && !pivotPassed(graph, state)
      ? startTurningBack(graph, state, { kind: 'undone', reason })
      : state,

  retried: (graph, state, { step }) => {
    if (isInProgress(state.status)) return hurried(graph, state, step);
    if (!needsOperator(state.status) || (step !== undefined && !isLeftToDo(graph, state, step))) return state;
    const barred = mayGoForwardAgain(state) ? barredPivots(graph, state) : [];
    if (barred.length > 0 && (step === undefined || barred.includes(step))) return forwardAgain(graph, state);
    const next = mapSteps(state, GAVE_UP, (s, key) =>
      step === undefined || key === step || stepOfKey(key) === step ? tryAgain(graph, state, s, key) : s,
    );
    return unstuck(step === undefined ? next : reopenFanOut(next, step));
  },

  rescheduled: (_, state, event) => rescheduled(state, event),

  'operator-resolved': (graph, state, { step, result }) => {
    const gaveUpUndoing = stepState(state, step).status === 'compensation_failed';
    if (isInProgress(state.status)) return gaveUpUndoing ? compensated(graph, state, step) : state;
    if (!needsOperator(state.status) || !isLeftToDo(graph, state, step)) return state;
    const forward = !gaveUpUndoing && state.heldPhase === 'running';
    const freed = unstuck(state);
    return forward
      ? completed(graph, reopenFanOut(freed, step), step, result)
      : compensated(graph, freed, step);
  },

  // Whether a saga settles does not depend on the time, only when it goes on does.
  settled: (graph, state, { status }) =>
    decide(graph, state, 0).settle === status
      ? changeState(state, { status, heldPhase: isTerminal(status) ? undefined : inWhich(state) })
      : state,
};

/**
 * The state after an event. Pure; terminal states are final: nothing that comes late overwrites them, and only a
 * completed saga can be undone.
 */
export function evolve(graph: SagaGraph, state: SagaState, event: SagaEvent): SagaState {
  if (isTerminal(state.status) && event.type !== 'undone') return state;
  const transition = TRANSITIONS[event.type] as (g: SagaGraph, s: SagaState, e: SagaEvent) => SagaState;
  const next = transition(graph, state, event);
  if (relationsOf(graph).pivots.length === 0) return next;
  return barPivots(graph, decidePending(graph, next), 'now' in event ? event.now : undefined);
}

/** While an operator is needed, a pivot that may have taken effect is retried only if the operator requests it. */
function withoutRetries(graph: SagaGraph, state: SagaState): SagaState {
  if (!needsOperator(state.status) && state.status !== 'paused') return state;
  return relationsOf(graph).pivots.reduce((next, name) => {
    const isDoubtful = isUndecided(graph.steps.get(name)!, stepState(next, name));
    return isDoubtful ? giveUp(next, name) : next;
  }, state);
}

/**
 * What waits for another attempt makes it at once; of a step that is named, so does a compensation that failed permanently. A
 * rate limit, a delay and a wait for a signal stay as they are.
 */
function hurried(graph: SagaGraph, state: SagaState, only: string | undefined): SagaState {
  const next = mapSteps(state, TIMED | KIND.compensationFailed, (step, key) => {
    if (only !== undefined && key !== only && stepOfKey(key) !== only) return step;
    if (backsOff(step)) return changeStep(step, { retryAt: undefined });
    return only === undefined ? step : tryAgain(graph, state, step, key);
  });
  return next.steps === state.steps ? state : next;
}

/** While it was to roll back, and nothing was compensated yet: not even by an operator, who has resolved a pivot. */
function mayGoForwardAgain(state: SagaState): boolean {
  return state.heldPhase === 'compensating' && !isPartlyCompensated(state);
}

/**
 * Nothing was compensated yet: what may have passed is tried again, and so is all that has failed. A pivot that had
 * lost a join any is needed after all, and with it what it came after.
 */
function forwardAgain(graph: SagaGraph, state: SagaState): SagaState {
  const barred = [...graph.steps.keys()].filter((name) => isBarred(graph, state, name));
  const needed = uncut(graph, changeState(state, { heldPhase: 'running', rollbackTo: undefined }), barred);
  const next = mapSteps(needed, GAVE_UP, (step, key) =>
    barred.includes(key)
      ? changeStep(step, { status: fresh(step), failures: 0, retryAt: undefined })
      : tryAgain(graph, needed, step, key),
  );
  return completedFanOuts(graph, unstuck(next));
}

/** While compensating, and what a lost race or a failed optional step has left behind. */
function mayBeUndone(graph: SagaGraph, state: SagaState, key: string): boolean {
  const node = graph.steps.get(stepOfKey(key));
  const step = stepState(state, key);
  const isConcerned = state.status === 'compensating' || isDropped(stepState(state, stepOfKey(key)));
  return node !== undefined && isConcerned && !step.active && !awaitsChild(step) && toBeUndone(node, step);
}

function toBeUndone(node: StepNode, step: StepState): boolean {
  return step.status === 'compensating' || needsUndo(node, step);
}

/** What an operator may try again. */
const GAVE_UP = FAILED | KIND.compensationFailed;

/** Gives back the budget of what failed permanently. Suspects of a crash loop are pending; they only get their budget back. */
function tryAgain(graph: SagaGraph, state: SagaState, step: StepState, key: string): StepState {
  // An item is dropped with its step.
  const isGone = isDropped(stepState(state, stepOfKey(key)));
  if (state.heldPhase === 'running' && step.status === 'failed' && !isGone) {
    return step.items
      ? changeStep(step, { status: 'running', retryAt: undefined })
      : changeStep(step, { status: fresh(step), failures: 0, retryAt: undefined, wait: whatCame(step) });
  }
  // A pivot that cannot be compensated is not tried: an operator has to say what became of it.
  const node = graph.steps.get(stepOfKey(key));
  return step.status === 'compensation_failed' && (node === undefined || canBeUndone(node))
    ? changeStep(step, { status: 'compensating', compensationFailures: 0, retryAt: undefined })
    : step;
}

/** One that has only waited is past its delay. */
function fresh({ attempts }: StepState): StepState['status'] {
  return attempts === 0 ? 'waiting' : 'pending';
}

/** While held: is this step, or its compensation, among what an operator may try again or do manually? */
function isLeftToDo(graph: SagaGraph, state: SagaState, key: string): boolean {
  const name = stepOfKey(key);
  // An operator's process may not have the graph; the steps that something happened to are known without it.
  if (!graph.steps.has(name) && !state.steps.has(key)) return false;
  const step = stepState(state, key);
  if (step.status === 'compensation_failed') return true;
  // What its saga comes to is not for an operator to say.
  if (awaitsChild(step)) return false;
  if (state.heldPhase === 'running') return !isDone(step) && !isDropped(stepState(state, name));
  const { rollbackTo } = state;
  const isConcerned = rollbackTo === undefined || descendantsOf(graph, rollbackTo).has(name);
  return isConcerned && graph.steps.has(name) && !step.active && toBeUndone(nodeOf(graph, key), step);
}

/** An operator deals with one item of a fan-out that failed permanently: the others may go on. */
function reopenFanOut(state: SagaState, key: string): SagaState {
  const name = stepOfKey(key);
  const { status, continued } = stepState(state, name);
  if (key === name || status !== 'failed' || continued) return state;
  const itself = state.steps.get(key);
  const isOther = (_: number, item?: StepState) => item?.status === 'failed' && item !== itself;
  const count = stepState(state, name).items!.length;
  const isAnyOther = itemsOf(state.steps, name).search(count, ({ kinds }) => (kinds & FAILED) !== 0, isOther);
  return isAnyOther ? state : withStep(state, name, { status: 'running' });
}

/** An operator sends it on. */
function unstuck(state: SagaState): SagaState {
  const forward = state.heldPhase === 'running';
  return changeState(state, {
    status: forward ? 'running' : 'compensating',
    heldPhase: undefined,
    sentOn: true,
    failure: forward ? undefined : state.failure,
  });
}

function inWhich({ status, heldPhase }: SagaState): 'running' | 'compensating' {
  return heldPhase ?? (status === 'compensating' ? 'compensating' : 'running');
}

/** An attempt is being made by the holder of the lease. */
function isAnyActive({ steps }: SagaState): boolean {
  for (const [, step] of stepsOfKinds(steps, KIND.active)) if (step.active) return true;
  return false;
}
