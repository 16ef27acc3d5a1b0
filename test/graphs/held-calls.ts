import {
  type StepAbortedError,
  type StepContext,
  StepRejectedError,
  UnknownOutcomeError,
} from '../../libs/saga/src/index.js';
import { itemKey } from '../../libs/saga/src/definition/graph/saga-graph.js';
import type { CallKind, Perform } from '../chaos/programs/planned-saga.js';

/** How a call is to end. */
export type Ending =
  | { readonly type: 'return'; readonly value?: unknown }
  | {
      readonly type: 'throw';
      readonly what: 'error' | 'rejected' | 'unknown';
      /** It takes effect before it throws. */
      readonly effect: boolean;
    };

/** A call of a saga's method, held until the test sets its result. */
export interface Call {
  readonly kind: CallKind;
  readonly sagaId: string;
  /** The step's name, or the item's key. */
  readonly key: string;
  readonly round: number;
  readonly attempt: number;
  readonly idempotencyKey: string;
  /** What a compensation is given. */
  readonly result: unknown;
  /** What a step that waits is given. */
  readonly payload: unknown;
  readonly results: Readonly<Record<string, unknown>>;
  /** Its signal has aborted. */
  readonly aborted: boolean;
  end(ending: Ending): void;
}

/** Nothing takes this long (ms) on any machine; past it, it never happens. */
const NEVER = 120_000;

/** The calls of one saga that the test has not handled yet. */
export class CallQueue {
  private readonly calls: Call[] = [];
  private arrived: (() => void) | undefined;

  put(call: Call): void {
    this.calls.push(call);
    this.arrived?.();
  }

  /** Unexpected calls. There are none unless something is wrong. */
  get left(): readonly string[] {
    return this.calls.map(({ kind, key, round, attempt }) => `${kind} ${key}~${round} (${attempt})`);
  }

  /** The first that fits; waits for it. */
  async take(fits: (call: Call) => boolean, what: string): Promise<Call> {
    for (;;) {
      const at = this.calls.findIndex(fits);
      if (at >= 0) return this.calls.splice(at, 1)[0]!;
      await happens(
        new Promise<void>((resolve) => (this.arrived = resolve)),
        () => `no call of ${what}; there are: ${this.left.join(', ') || 'none'}`,
      );
    }
  }
}

/** Handles calls of planned sagas' methods in this process: they wait until the test sets their result. */
export class HeldCalls {
  private readonly queues = new Map<string, CallQueue>();

  of(sagaId: string): CallQueue {
    let queue = this.queues.get(sagaId);
    if (!queue) this.queues.set(sagaId, (queue = new CallQueue()));
    return queue;
  }

  readonly perform: Perform = (kind, ctx, payload) =>
    new Promise((resolve, reject) => {
      const { sagaId, step, index, round, attempt, idempotencyKey, results, signal, manager } = ctx;
      signal.addEventListener('abort', () => {
        // It has a connection of the pool, which is closed once all are given back.
        const { trigger } = signal.reason as StepAbortedError;
        if (manager && trigger === 'shutdown') reject(signal.reason as Error);
      });
      this.of(sagaId).put({
        kind,
        sagaId,
        key: index === undefined ? step : itemKey(step, index),
        round,
        attempt,
        idempotencyKey,
        results,
        payload,
        result: (ctx as StepContext & { result?: unknown }).result,
        get aborted() {
          return signal.aborted;
        },
        end: (ending) => (ending.type === 'return' ? resolve(ending.value) : reject(errorOf(ending.what))),
      });
    });
}

function errorOf(what: Extract<Ending, { type: 'throw' }>['what']): Error {
  if (what === 'rejected') return new StepRejectedError('no');
  return what === 'unknown' ? new UnknownOutcomeError('no answer') : new Error('not now');
}

/** Rejects, with what was missing, when it never happens. */
export async function happens<T>(event: Promise<T>, missing: () => string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const never = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(missing())), NEVER);
  });
  return Promise.race([event, never]).finally(() => clearTimeout(timer));
}

/** Looks until there is no objection any more; rejects with the last if it never goes away. */
export async function becomes(
  objection: () => Promise<string | undefined> | string | undefined,
): Promise<void> {
  const since = performance.now();
  for (;;) {
    const found = await objection();
    if (found === undefined) return;
    if (performance.now() - since > NEVER) throw new Error(found);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}
