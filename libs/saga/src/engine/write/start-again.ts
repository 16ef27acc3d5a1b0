import type { SagaGraph } from '../../definition/graph/saga-graph.js';
import { limitKeyOf } from '../payload/start-keys.js';
import type { NewSaga, StoredSaga } from '../ports/stored-saga.js';
import type { KnownSaga, KnownStart } from './recent-sagas.js';

/**
 * Returns a start that was lost, to be stored again. Its times are those that it had.
 * Undefined: it was not acknowledged here, and no checkpoint of the saga was.
 * @param leased this process runs the saga, and nothing of it was stored yet
 * @param now the database's time
 * @param graph undefined: this process does not have it
 */
export function startAgain(
  known: KnownSaga,
  leased: boolean,
  now: number,
  graph: SagaGraph | undefined,
): NewSaga | undefined {
  const { start, claimed, last } = known;
  if (last === undefined) return start && { ...asStarted(start, now), leased };
  const saga = start ? asStarted(start, now) : claimed && asClaimed(claimed, now, graph);
  if (saga === undefined) return undefined;
  // Nothing claims it until its state is stored as well. A lock is waited for in the order of the starts.
  const follows = Math.max(now + STATE_FOLLOWS, saga.startAt ?? 0);
  const startAt = saga.lockKey === undefined ? follows : saga.startAt;
  return { ...saga, leased: false, startAt, step: last.step };
}

/** Milliseconds, at most, between a start that is stored again and the state of the saga. */
const STATE_FOLLOWS = 5_000;

function asStarted({ saga, at }: KnownStart, now: number): NewSaga {
  const { delay, timeout, sla, lockKey } = saga;
  const startAt = saga.startAt ?? (delay === undefined ? undefined : at + delay);
  const begins = startAt ?? at;
  const left = (duration: number) => Math.max(0, begins + duration - Math.max(now, begins));
  return {
    ...saga,
    fresh: false,
    delay: undefined,
    startAt,
    // That of a saga with a lock counts from when it gets the lock.
    timeout: timeout === undefined || lockKey !== undefined ? timeout : left(timeout),
    sla: sla === undefined ? undefined : left(sla),
  };
}

function asClaimed(saga: StoredSaga, now: number, graph: SagaGraph | undefined): NewSaga {
  const { id, name, version, correlationId, input, priority, tags, state, slaAt, lock } = saga;
  const begins = Math.max(now, state.startsAt ?? now);
  const left = (time: number | undefined) => (time === undefined ? undefined : Math.max(0, time - begins));
  return {
    ...{ id, name, version, correlationId, input, priority, tags },
    ...{ fresh: false, leased: false, step: '', timeout: left(state.deadline), sla: left(slaAt) },
    lockKey: lock?.key,
    startAt: state.startsAt,
    limitKey: graph && limitKeyAgain(graph, input),
  };
}

/** A claim does not read it. Undefined: its function gives none any more, so that the saga is one of those without a key. */
function limitKeyAgain(graph: SagaGraph, input: string | undefined): string | undefined {
  try {
    return limitKeyOf(graph, input);
  } catch {
    return undefined;
  }
}
