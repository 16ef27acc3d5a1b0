import type { StepContext } from '../../definition/types/contexts.js';
import type { StepNode } from '../../definition/graph/saga-graph.js';
import { timeReturned } from '../../definition/options/time-of.js';
import type { Action } from '../../machine/plan.js';
import type { SagaEvent } from '../../machine/saga-event.js';
import { stepState, type SagaState } from '../../machine/saga-state.js';
import { shown } from '../../shared/shown-value.js';
import { ignoreRejection } from '../../shared/ignore-rejection.js';
import { encodeElements } from '../payload/payload.js';
import { SagaPayloadError } from '../../errors.js';
import { serializeError } from '../payload/serialize-error.js';
import type { StepAttempt } from './step-attempt.js';

/** Items of one fan-out: each has a row, and the saga is held in memory as a whole (some 500 bytes each). */
export const MOST_ITEMS = 100_000;

const ASKED: readonly Action['kind'][] = ['run', 'expand', 'await'];

/**
 * Asks a step's `delay`, `when`, `timeout` and `forEach`, which come before its first attempt. They are functions of the
 * context, and asked here and now.
 * @returns what follows; undefined: nothing, the step is to be run
 */
export function askFirst(
  attempt: StepAttempt,
  state: SagaState,
  options: { readonly maxPayloadBytes: number; readonly now: number },
): SagaEvent[] | undefined {
  const { kind, node, index } = attempt.action;
  if (!ASKED.includes(kind) || index !== undefined) return undefined;
  // It was asked whether to wait.
  if (node.wait && kind === 'run') return undefined;
  const { status, attempts } = stepState(state, node.name);
  const isFirst = status === 'pending' || (status === 'waiting' && attempts === 0);
  if (!isFirst) return undefined;
  const context = attempt.context() as StepContext;
  try {
    if (node.delayOf && status === 'pending' && attempts === 0) {
      const until = timeReturned(node.delayOf(context), 'delay', options.now);
      return [{ type: 'delay-started', step: node.name, until }];
    }
    if (node.when && !answered(node.when(context))) return [{ type: 'condition-false', step: node.name }];
    if (kind === 'await') return [waitStarted(node, context, options.now)];
    if (!node.forEach) return undefined;
    const items = itemsOf(node.forEach(context), options.maxPayloadBytes, node.name);
    return [{ type: 'fan-out-started', step: node.name, items }];
  } catch (error) {
    // A function of what is stored already: to ask it again would give the same.
    const failed = { kind: 'error', unknown: false, retryable: false, random: 0 } as const;
    return [
      { type: 'step-started', step: node.name },
      { type: 'step-failed', step: node.name, error: serializeError(error), now: options.now, ...failed },
    ];
  }
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
