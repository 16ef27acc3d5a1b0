import { SagaStateError } from '../../errors.js';
import { rescheduleable, timedWaitOf } from '../../machine/reschedule.js';
import { awaitsChild, awaitsSlot, isInProgress, stepState } from '../../machine/saga-state.js';
import { liveState } from '../ports/live-state.js';
import { startTimeOf } from '../../machine/turn.js';
import type { StoredSaga } from '../ports/stored-saga.js';
import { doesNotFit, edited, type OperatorEdit } from './edited.js';
import { attemptsOf } from './way-out-edits.js';

/** Moves the end of a delay, of a wait, or of the time before the next attempt; `at`: not before now. */
export const rescheduleEdit: OperatorEdit<{ step: string; at: (now: number) => number }> = (
  saga,
  graph,
  now,
  { step, at },
) => {
  const { status } = saga.state;
  if (!isInProgress(status) && status !== 'paused') throw doesNotFit('rescheduled', saga);
  const busy = graph && saga.lockedBy !== undefined ? attemptsOf(liveState(saga, graph, now)) : [];
  if (busy.includes(step) || timedWaitOf(saga.state, step) === undefined)
    throw notWaiting(saga, step, busy.includes(step), now);
  // Its worker would lose the lease, and those with it.
  if (busy.length > 0) {
    throw new SagaStateError(
      `Step '${step}' of saga ${saga.id} cannot be rescheduled now: attempts are in progress: ${busy.join(', ')}. ` +
        `Repeat the call when they have ended, or abandon them.`,
    );
  }
  return edited(saga, graph, now, { type: 'rescheduled', step, at: Math.max(now, at(now)) });
};

function notWaiting({ id, state }: StoredSaga, step: string, isBusy: boolean, now: number): SagaStateError {
  const known = stepState(state, step);
  const startsAt = startTimeOf(state, now);
  if (startsAt !== undefined && known.status === 'pending') {
    return new SagaStateError(
      `Step '${step}' of saga ${id} cannot be rescheduled: its saga starts at ${new Date(startsAt).toISOString()}, and until ` +
        `then it waits for no time. To start at another time, cancel the saga and start it again.`,
    );
  }
  const does = isBusy
    ? 'an attempt is in progress'
    : awaitsChild(known)
      ? `it waits for saga ${known.child!.id}`
      : known.permit !== undefined
        ? 'it waits for its rate limit'
        : awaitsSlot(known)
          ? 'it waits for a slot of its concurrency'
          : `it is ${known.status}`;
  const others = rescheduleable(state).filter((other) => other !== step);
  return new SagaStateError(
    `Step '${step}' of saga ${id} cannot be rescheduled: ${does}, and waits for no time. ` +
      `It could be: ${others.join(', ') || 'no step'}.`,
  );
}
