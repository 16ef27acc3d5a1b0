import type { StepContext } from '../../definition/types/contexts.js';
import type { StepNode } from '../../definition/graph/saga-graph.js';
import { timeReturned } from '../../definition/options/time-of.js';
import type { Action } from '../../machine/plan.js';
import type { SagaEvent } from '../../machine/saga-event.js';
import { stepState, type SagaState } from '../../machine/saga-state.js';
import { continueWith } from '../../shared/later.js';
import { shown } from '../../shared/shown-value.js';
import { ignoreRejection } from '../../shared/ignore-rejection.js';
import { encodeElements } from '../payload/payload.js';
import { SagaPayloadError } from '../../errors.js';
import { failedForGood } from './attempt-events.js';
import type { StepAttempt } from './step-attempt.js';

/** Items of one fan-out: each has a row, and the saga is held in memory as a whole (some 500 bytes each). */
export const MOST_ITEMS = 100_000;

const ASKED: readonly Action['kind'][] = ['run', 'expand', 'await'];

/** What follows from the first questions. Undefined: nothing, the step is to be run. */
export type FirstAnswer = readonly SagaEvent[] | undefined;

/**
 * Asks a step's `delay`, `when`, `timeout` and `forEach`, which come before its first attempt. They are functions of the
 * context, and asked here and now.
 * @returns a promise only for answers that arrive later; it does not reject
 */
export function askFirst(
  attempt: StepAttempt,
  state: SagaState,
  options: { readonly maxPayloadBytes: number; readonly now: () => number },
): FirstAnswer | Promise<FirstAnswer> {
  const { kind, node, index } = attempt.action;
  if (!ASKED.includes(kind) || index !== undefined) return undefined;
  // It was asked whether to wait.
  if (node.wait && kind === 'run') return undefined;
  const { status, attempts } = stepState(state, node.name);
  const isFirst = status === 'pending' || (status === 'waiting' && attempts === 0);
  if (!isFirst) return undefined;
  const failed = (error: unknown): FirstAnswer => failedForGood(node.name, error, options.now());
  try {
    const answer = asked(attempt, status === 'pending' && attempts === 0, options);
    return answer instanceof Promise ? answer.catch(failed) : answer;
  } catch (error) {
    return failed(error);
  }
}

function asked(
  attempt: StepAttempt,
  isNew: boolean,
  { maxPayloadBytes, now }: { readonly maxPayloadBytes: number; readonly now: () => number },
): FirstAnswer | Promise<FirstAnswer> {
  const { kind, node } = attempt.action;
  const { name: step } = node;
  const context = attempt.context() as StepContext;
  if (node.delayOf && isNew)
    return [{ type: 'delay-started', step, until: timeReturned(node.delayOf(context), 'delay', now()) }];
  const begun = (): FirstAnswer | Promise<FirstAnswer> => {
    if (kind === 'await') return [waitStarted(node, context, now())];
    if (!node.forEach) return undefined;
    return continueWith(node.forEach(context), (items) => [
      { type: 'fan-out-started', step, items: itemsOf(items, maxPayloadBytes, step) },
    ]);
  };
  if (!node.when) return begun();
  return continueWith(node.when(context), (answer) =>
    answered(answer) ? begun() : [{ type: 'condition-false', step }],
  );
}

function waitStarted({ name, wait }: StepNode, context: StepContext, now: number): SagaEvent {
  const started = { type: 'wait-started', step: name, now } as const;
  if (!wait!.timeoutOf) return started;
  return { ...started, until: timeReturned(wait!.timeoutOf(context), 'timeout', now) };
}

function answered(answer: unknown): boolean {
  if (typeof answer === 'boolean') return answer;
  ignoreRejection(answer);
  throw new TypeError(`when() must return true or false synchronously; it returned ${shown(answer)}`);
}

function itemsOf(items: unknown, maxPayloadBytes: number, step: string): string[] {
  if (Array.isArray(items)) {
    requireFewEnough(items, step);
    const stored = encodeElements(items, 'forEach()', maxPayloadBytes);
    // An array may have a toJSON() that gives another, or none.
    if (stored) return requireFewEnough(stored, step);
  }
  ignoreRejection(items);
  throw new TypeError(`forEach() must return an array synchronously; it returned ${shown(items)}`);
}

function requireFewEnough<T>(items: T[], step: string): T[] {
  if (items.length <= MOST_ITEMS) return items;
  throw new SagaPayloadError(
    `forEach() of step '${step}' returned ${items.length} items; the limit is ${MOST_ITEMS}. Return batches (each ` +
      `item an array of several), or split the work into sub-sagas.`,
    'forEach()',
  );
}
