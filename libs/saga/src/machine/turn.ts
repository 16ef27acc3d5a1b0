import type { SagaGraph } from '../definition/graph/saga-graph.js';
import type { EventOf } from './saga-event.js';
import { type SagaState, changeState } from './saga-state.js';

/** A time that a rate limit gave is good for this part of the limit's window, within these bounds (ms). */
const SLACK = { part: 0.1, least: 50, most: 1_000 };
/** That of a long window. */
const LONG_SLACK = { part: 0.01, most: 30_000 };

/**
 * How long (ms) after its time an attempt, or a saga, may still begin. It begins a little after the time it was given,
 * and one may be later than the next: the limit is asked for windows that are longer by as much, so that it is kept
 * by what really begins.
 */
export function permitSlack(per: number): number {
  const short = Math.min(SLACK.most, Math.max(SLACK.least, per * SLACK.part));
  return Math.max(short, Math.min(LONG_SLACK.most, per * LONG_SLACK.part));
}

/** The start time of a saga that has not come yet; milliseconds since the epoch. Undefined: it may begin. */
export function startTimeOf({ startsAt }: SagaState, now: number): number | undefined {
  return startsAt !== undefined && startsAt > now ? startsAt : undefined;
}

/**
 * How a saga stands with its start time, and then with the rate limit of its name. `open`: it has neither, or the saga has
 * begun. `ask`: the limit has given it no time yet, or it let that pass. `wait`: its time has not come. `begin`: its time
 * has come.
 */
export function turnOf(
  { rateLimit }: SagaGraph,
  state: SagaState,
  now: number,
): 'open' | 'ask' | 'wait' | 'begin' {
  if (startTimeOf(state, now) !== undefined) return 'wait';
  const { turn, steps } = state;
  if (rateLimit === undefined || turn === 'begun') return 'open';
  if (turn === undefined) return steps.size > 0 ? 'open' : 'ask';
  if (turn.at > now) return 'wait';
  return now > turn.at + permitSlack(rateLimit.per) ? 'ask' : 'begin';
}

/** The limit lets it begin at this time, or soon after. */
export function turnGranted(
  graph: SagaGraph,
  state: SagaState,
  { at, key }: EventOf<'turn-granted'>,
): SagaState {
  const waits = state.status === 'running' && turnOf(graph, state, at) !== 'open';
  return waits ? changeState(state, { turn: key === undefined ? { at } : { at, key } }) : state;
}

/** A lost worker may have used its time, and may not: it asks again, so that none too many begin. */
export function turnLost(graph: SagaGraph, before: SagaState, after: SagaState, now: number): SagaState {
  const turn = turnOf(graph, before, now);
  return turn === 'open' || turn === 'wait' ? after : changeState(after, { turn: { at: 0 } });
}
