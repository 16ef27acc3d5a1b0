import type { ProbeAnswer } from '../../libs/saga/src/index.js';
import type { Attempt } from '../oracle/model-entries.js';
import type { Move } from '../oracle/random-graph.js';
import type { SagaEvent } from '../../libs/saga/src/machine/saga-event.js';
import type { Ending } from './held-calls.js';

/** How an attempt ends: what its method does, and what that means. */
export interface Fate {
  readonly ending: Ending;
  /** What its probe, which is asked right away, answers. */
  readonly found?: ProbeAnswer;
  readonly effect: 'done' | 'maybe' | 'none';
  readonly event: (now: number) => SagaEvent;
}

/** Failures are for the others: what is not possible for an attempt gives way to progress. */
const GOES_WELL: Move['kind'][] = ['begin', 'succeed', 'wait', 'crash', 'interrupt', 'cancel', 'abort'];

/** What the machine knows of an attempt that ends. */
export interface Known {
  /** Its signal has aborted: its effect before that is unknown. */
  readonly isUnwanted: boolean;
  /** An earlier attempt may have taken effect: a probe does not say that none has. */
  readonly isInDoubt: boolean;
}

export function scriptedOutcome(attempt: Attempt, move: Move, known: Known, value: string): Fate {
  const { isUnwanted, isInDoubt } = known;
  const { kind, node } = attempt;
  const goesWell = GOES_WELL.includes(move.kind);
  if (kind === 'compensate') return goesWell ? undone(attempt) : notUndone(attempt, move);
  if (kind === 'probe') {
    const isUnknown = move.kind === 'timeout' || isInDoubt;
    const found = goesWell ? { done: value } : isUnknown ? 'unknown' : 'not-done';
    return { ...fateFound(attempt, move, value, found), ending: { type: 'return', value: found } };
  }
  if (goesWell) return { ...done(attempt, value), ending: { type: 'return', value } };
  const what = move.kind === 'timeout' ? 'unknown' : move.kind === 'reject' ? 'rejected' : 'error';
  // Its outcome is unknown, so it may take effect. The answer of a probe about it is true.
  const effect = what === 'unknown' && node.probe === undefined && move.pick % 2 === 0;
  const ending: Ending = { type: 'throw', what, effect };
  const isUnknown = what === 'unknown' || (what === 'error' && isUnwanted);
  if (!isUnknown && isInDoubt && node.probe !== undefined) {
    const isFound = move.pick % 2 === 0;
    const fate = isFound ? done(attempt, value) : failed(attempt, move, false);
    return { ...fate, ending, found: isFound ? { done: value } : 'unknown' };
  }
  if (!isUnknown || node.transactional) return { ...failed(attempt, move, false), ending };
  if (node.probe === undefined) return { ...failed(attempt, move, true), ending };
  const answers = [{ done: value }, isInDoubt ? 'unknown' : 'not-done', 'unknown'] as const;
  const found = answers[move.pick % 3]!;
  return { ...fateFound(attempt, move, value, found), ending, found };
}

function fateFound(attempt: Attempt, move: Move, value: string, found: ProbeAnswer): Omit<Fate, 'ending'> {
  if (typeof found === 'object') return done(attempt, value);
  return failed(attempt, { ...move, kind: 'fail' }, found === 'unknown');
}

function done({ key }: Attempt, value: string): Omit<Fate, 'ending'> {
  const event = (now: number): SagaEvent => {
    return { type: 'step-completed', step: key, result: JSON.stringify(value), now };
  };
  return { effect: 'done', event };
}

function failed({ key }: Attempt, move: Move, unknown: boolean): Omit<Fate, 'ending'> {
  const retryable = move.kind !== 'reject';
  const kind = retryable ? 'error' : 'rejected';
  const event = (now: number): SagaEvent => ({
    type: 'step-failed',
    ...{ step: key, kind, unknown, retryable, now, random: move.random },
    error: { name: 'Error', message: move.kind },
  });
  return { effect: unknown ? 'maybe' : 'none', event };
}

function undone({ key }: Attempt): Fate {
  return {
    ending: { type: 'return' },
    effect: 'done',
    event: () => ({ type: 'compensation-completed', step: key }),
  };
}

function notUndone({ key }: Attempt, move: Move): Fate {
  const retryable = move.kind !== 'reject';
  const event = (now: number): SagaEvent => ({
    type: 'compensation-failed',
    ...{ step: key, retryable, now, random: move.random },
    error: { name: 'Error', message: move.kind },
  });
  const ending: Ending = { type: 'throw', what: retryable ? 'error' : 'rejected', effect: false };
  return { ending, effect: 'none', event };
}
