import type { Type } from '@nestjs/common';
import type { UnlinkedStep } from '../../libs/saga/src/definition/graph/link-steps.js';
import { resolveRetryPolicy } from '../../libs/saga/src/definition/options/retry-policy.js';
import { approvalSignal, type SagaGraph } from '../../libs/saga/src/definition/graph/saga-graph.js';
import { APPROVAL_PREFIX } from '../../libs/saga/src/definition/options/signal-name.js';
import { graphOf, stepOf } from '../fixtures/graph-of.js';
import { listing, scripted } from '../oracle/random-graph.js';
import { mended } from '../graphs/definable-graph.js';
import type { Rng, Dice } from './rng.js';
import { secondVersion, VERSIONS } from './versions.js';

/** The name of all that waits, and of what it waits for: to be left out of scenarios that are older. */
export const WAITS = 'waits';
/** The same of compensations that are confirmed. */
export const REPLIES = 'replies';
/** The same of approvals that several operators have to give. */
export const QUORUMS = 'quorums';

/** The same of steps with a limit over all sagas. */
export const SLOTS = 'slots';
/** The same of steps that report how far they are. */
export const HEARTBEATS = 'heartbeats';

/** The same of keys of limits. */
export const LIMIT_KEYS = 'limit keys';
/** The same of sagas that start by a schedule. */
export const SCHEDULES = 'schedules';

/** How many operators there are who approve; none of the quorums is larger. */
export const APPROVERS = 3;

/** A class of sagas, as data; the type stands for the class. */
export interface SimulatedSaga {
  readonly graph: SagaGraph;
  /** Its second version. Undefined: there is none. */
  readonly second?: SagaGraph;
  readonly type: Type;
}

/** Milliseconds within which so many sagas of a class have their attempts, and their leases. */
const RATE = { count: 2, per: 1_000 };

/**
 * Sagas of random shape, each with sub-sagas of those after it.
 * @param isLeftOut of what was made, by its name: to make a scenario smaller
 */
export function randomSagas(
  chance: Rng,
  { count, scheduledUntil }: { readonly count: number; readonly scheduledUntil: number },
  isLeftOut: (name: string) => boolean,
): SimulatedSaga[] {
  const types = Array.from({ length: count }, (_, n) => ({ [`Saga${n}`]: class {} })[`Saga${n}`]! as Type);
  return types.map((type, n) => {
    const dice = chance.for('saga', n);
    const size = Math.floor(dice.long(1, dice.happens(0.1) ? 30 : 9));
    const names = Array.from({ length: size }, (_, k) => `s${k}`);
    const kept = names.filter((name) => !isLeftOut(`step ${n}.${name}`));
    const later = types.slice(n + 1);
    const steps = kept.map((name) => {
      const made = randomStep(chance.for('step', n, name), name, kept, later);
      const step = isLeftOut(REPLIES) ? { ...made, compensationReply: undefined } : made;
      const hasQuorum = !isLeftOut(QUORUMS);
      const isLeft = isLeftOut(WAITS) || isLeftOut(`wait ${n}.${name}`);
      const waiting = isLeft ? step : randomWait(chance.for('wait', n, name), step, hasQuorum);
      const slotted = randomSlots(chance.for('slots', n, name), waiting);
      const limited = isLeftOut(SLOTS) || isLeftOut(`slots ${n}.${name}`) ? waiting : slotted;
      const keyed = isLeftOut(LIMIT_KEYS) ? limited : randomRateKey(chance.for(LIMIT_KEYS, n, name), limited);
      const isSilent = isLeftOut(HEARTBEATS) || isLeftOut(`heartbeat ${n}.${name}`);
      return isSilent ? keyed : randomHeartbeat(chance.for('heartbeat', n, name), keyed);
    });
    const { limit, ...others } = randomOptions(dice, isLeftOut, n);
    const options = {
      ...others,
      limit: limit && { ...limit, ...randomKey(chance.for('limit key', n)) },
      ...(!isLeftOut(SCHEDULES) && randomSchedule(chance.for(SCHEDULES, n), scheduledUntil)),
    };
    const [name, second] = [`saga-${n}`, chance.for(VERSIONS, n)];
    return {
      type,
      graph: { ...mended({ ...graphOf(...steps), ...options }), ...options, name },
      second: isLeftOut(VERSIONS) ? undefined : secondVersion(second, name, steps, options),
    };
  });
}

/** Sometimes the step waits for a signal or an approval, with all options of such a step. */
function randomWait(dice: Dice, step: UnlinkedStep, hasQuorum: boolean): UnlinkedStep {
  const isWait = dice.happens(0.15);
  const signal = dice.among(['x', 'x', 'y', approvalSignal(step.name)]);
  const timeout = dice.happens(0.5) ? Math.floor(dice.long(50, 20_000)) : undefined;
  const quorum = dice.among([undefined, 2, APPROVERS]);
  if (!isWait || step.kind === 'sub-saga') return step;
  const isApproval = signal.startsWith(APPROVAL_PREFIX);
  return {
    ...step,
    kind: isApproval ? 'approval' : 'signal',
    wait: {
      signal,
      ...(timeout !== undefined && { timeout }),
      ...(isApproval && hasQuorum && quorum !== undefined && { quorum }),
    },
    timeout: undefined,
    transactional: false,
    idempotent: true,
    compensateOnFailure: false,
    compensationReply: undefined,
    probe: undefined,
    forEach: undefined,
    rateLimit: undefined,
  };
}

/** Sometimes the attempts of the step are limited over all sagas, or for each of two keys. */
function randomSlots(dice: Dice, step: UnlinkedStep): UnlinkedStep {
  const isLimited = dice.happens(0.15);
  const count = dice.int(1, 3);
  const isKeyed = dice.happens(0.4);
  if (!isLimited || step.kind !== 'step') return step;
  const key = (ctx: { readonly input: unknown }) => `key ${(ctx.input as { n: number }).n % 2}`;
  return { ...step, limit: { count, ...(isKeyed && { key }) } };
}

/** Sometimes each attempt of the step has to report that it is alive. */
function randomHeartbeat(dice: Dice, step: UnlinkedStep): UnlinkedStep {
  const reports = dice.happens(0.2);
  const { kind, transactional, timeout = Infinity } = step;
  const heartbeat = Math.min(dice.int(50, 2_000), timeout / 2);
  return reports && kind !== 'sub-saga' && !transactional ? { ...step, heartbeat } : step;
}

/** Half of the rate limits are of each key, of which there are two. */
function randomRateKey(dice: Dice, step: UnlinkedStep): UnlinkedStep {
  const { rateLimit } = step;
  const key = (ctx: { readonly input: unknown }) => `key ${(ctx.input as { n: number }).n % 2}`;
  return rateLimit && dice.happens(0.5) ? { ...step, rateLimit: { ...rateLimit, key } } : step;
}

/**
 * Sometimes sagas start by themselves.
 * @param until milliseconds since the epoch: the last tick
 */
function randomSchedule(dice: Dice, until: number): Pick<SagaGraph, 'schedule'> {
  const [isScheduled, period] = [dice.happens(0.1), dice.among([5_000, 20_000, 60_000])];
  const overlap = dice.among(['skip', 'queue', 'allow'] as const);
  const catchUp = dice.among(['none', 'last', overlap === 'skip' ? 'last' : 'all'] as const);
  if (!isScheduled) return {};
  const next = (after: number) => {
    const tick = (Math.floor(after / period) + 1) * period;
    return tick <= until ? tick : NEVER;
  };
  const input = ({ at }: { at: Date }) => ({ n: (at.getTime() / period) % 100, of: 'schedule' });
  return { schedule: { cron: `every ${period} ms`, timezone: 'UTC', overlap, catchUp, input, next } };
}

/** A time that no scenario reaches. */
const NEVER = Date.UTC(2100, 0, 1);

/** Half of the limits are of each key, of which there are two. */
function randomKey(dice: Dice): Pick<NonNullable<SagaGraph['limit']>, 'key'> {
  if (!dice.happens(0.5)) return {};
  return { key: ({ input }: { input: { n: number } }) => `key ${input.n % 2}` };
}

export function randomOptions(
  dice: Dice,
  isLeftOut: (name: string) => boolean,
  n: number,
): Partial<SagaGraph> {
  const timeout = dice.happens(0.15) ? dice.int(500, 20_000) : undefined;
  const suspends = dice.happens(0.1);
  const lockKey = dice.happens(0.15)
    ? ({ input }: { input: { n: number } }) => `key ${input.n % 3}`
    : undefined;
  const limit = dice.happens(0.15) ? { count: dice.int(1, 3) } : undefined;
  return {
    ...(!isLeftOut(`timeout ${n}`) && { timeout }),
    onFailure: suspends ? 'suspend' : 'compensate',
    ...(!isLeftOut(`lock ${n}`) && { lockKey }),
    ...(!isLeftOut(`limit ${n}`) && { limit }),
  };
}

export function randomStep(
  dice: Dice,
  name: string,
  names: readonly string[],
  later: readonly Type[],
): UnlinkedStep {
  const before = names.slice(0, names.indexOf(name));
  const after = before.filter((_, k) => dice.happens(k === before.length - 1 ? 0.7 : 0.15));
  const mode = dice.weighed({
    plain: 6,
    'at most once': 1,
    transactional: 1,
    'sub-saga': later.length > 0 ? 1 : 0,
  });
  const retry = resolveRetryPolicy({ attempts: dice.int(1, 3), delay: dice.int(10, 300) });
  const undo = resolveRetryPolicy({ attempts: dice.int(2, 6), delay: dice.int(10, 300) });
  const compensated = dice.happens(0.85);
  const isChild = mode === 'sub-saga';
  const fansOut = !isChild && dice.happens(0.12);
  const step = stepOf(name, {
    kind: isChild ? 'sub-saga' : 'step',
    after,
    join: after.length > 1 && dice.happens(0.3) ? 'any' : 'all',
    compensate: compensated && (!isChild || dice.happens(0.3)) ? `undo ${name}` : undefined,
    retry,
    compensationRetry: undo,
    timeout: !isChild && dice.happens(0.3) ? dice.int(50, 3_000) : undefined,
    transactional: mode === 'transactional',
    idempotent: mode !== 'at most once',
    compensateOnFailure: compensated && mode === 'plain' && dice.happens(0.1),
    probe: (mode === 'plain' || mode === 'at most once') && dice.happens(0.2) ? `probe ${name}` : undefined,
    when: dice.happens(0.12) ? scripted([dice.happens(0.5), dice.happens(0.5)]) : undefined,
    forEach: fansOut ? listing([dice.int(0, 5), dice.int(0, 5)]) : undefined,
    itemsAtOnce: dice.int(1, 4),
    delay: dice.happens(0.08) ? dice.int(20, 5_000) : undefined,
    savepoint: dice.happens(0.12) ? { attempts: dice.int(2, 3) } : undefined,
    pivot: !fansOut && dice.happens(0.05),
    rateLimit: !isChild && dice.happens(0.05) ? RATE : undefined,
    child: isChild
      ? (
          (type: Type) => () =>
            type
        )(dice.among(later))
      : undefined,
  });
  // Drawn last, so that scenarios of before are what they were.
  const optional = dice.happens(0.12) && !step.pivot;
  const isConfirmed = dice.happens(0.12) && !isChild && !fansOut && compensated;
  return { ...step, optional, ...(isConfirmed && { compensationReply: { signal: `reply ${name}` } }) };
}
