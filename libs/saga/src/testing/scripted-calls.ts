import type { StepNode } from '../definition/graph/saga-graph.js';
import type { RunnableSaga } from '../engine/ports/invoker.js';
import { UnknownOutcomeError } from '../errors.js';
import type { ServiceRuntime } from '../nest/assemble-engine.js';
import { type TestCall, withinCall } from './current-call.js';
import type { PendingWork } from './pending-work.js';
import { never } from './test-process.js';
import type { Life } from './virtual-time.js';

/** What is to go wrong with a method. */
export interface Fault {
  readonly method: string;
  /**
   * `failing`: it is not called, and fails. `timing-out`: it is called, and its result never arrives. `cancelling`: it is
   * called, and its saga is cancelled before its result arrives.
   */
  readonly kind: 'failing' | 'timing-out' | 'cancelling';
  readonly error?: unknown;
  /** In how many of its calls. */
  readonly times: number;
}

interface CallContext {
  readonly sagaId: string;
  readonly step: string;
  readonly index?: number;
  readonly attempt: number;
  readonly idempotencyKey: string;
  readonly signal: AbortSignal;
}

/** Turns of the event loop that a worker has to abort an attempt of a saga that was cancelled. */
const TURNS = 20;

/** Calls the methods of sagas, or lets go wrong what is to, and keeps what was called. */
export class ScriptedCalls {
  readonly calls: TestCall[] = [];
  /** Why cancellations were refused, in order. */
  readonly refusedCancellations: string[] = [];
  private readonly left: Map<Fault, number>;

  constructor(
    /** The saga that is tested: a step of another one may have the same name. */
    private readonly saga: string,
    private readonly faults: readonly Fault[],
    private readonly pending: PendingWork,
    /** Gives the reason if the cancellation is refused. */
    private readonly cancel: (id: string) => Promise<string | undefined>,
  ) {
    this.left = new Map(faults.map((fault) => [fault, fault.times]));
  }

  around(saga: RunnableSaga, world: ServiceRuntime, life: Life): RunnableSaga {
    return {
      ...saga,
      invoke: (method, context, payload) => {
        const { sagaId: id, step, index, attempt, idempotencyKey, signal } = context as CallContext;
        const call: TestCall = {
          ...{ saga: saga.graph.name, id, step, method, attempt, idempotencyKey },
          ...(index !== undefined && { index }),
        };
        this.calls.push(call);
        return this.carryOut(call, saga.graph.steps.get(step), { signal, life }, () =>
          withinCall({ world, call }, () => saga.invoke(method, context, payload)),
        );
      },
    };
  }

  private async carryOut(
    call: TestCall,
    node: StepNode | undefined,
    within: { readonly signal: AbortSignal; readonly life: Life },
    invoke: () => unknown,
  ) {
    const fault = this.faultOf(call);
    try {
      const result = await this.pending.during({ what: describe(call), call: within }, () => {
        if (fault?.kind === 'failing') throw fault.error;
        if (fault?.kind === 'cancelling') return this.cancelled(call, within.signal, invoke);
        // The effects of a call that does not end in time are rolled back.
        return fault && node?.transactional ? undefined : invoke();
      });
      if (fault?.kind !== 'timing-out') {
        call.outcome = 'completed';
        return result;
      }
    } catch (error) {
      Object.assign(call, { outcome: 'failed', error });
      throw error;
    }
    call.outcome = 'unknown';
    // The step's own timeout, or its heartbeat, ends it, in virtual time; without one it says itself that it cannot tell.
    const isWatched = node?.heartbeat !== undefined && call.method === node.name;
    if (node?.timeout !== undefined || isWatched) return never();
    throw new UnknownOutcomeError(`${call.method} took effect, but its response was lost`);
  }

  /** The saga is cancelled while the method runs; its result arrives once the worker knows of that. */
  private async cancelled(call: TestCall, signal: AbortSignal, invoke: () => unknown): Promise<unknown> {
    const running = Promise.resolve(invoke());
    // It may fail before the cancellation is through.
    running.catch(() => undefined);
    const refusal = await this.cancel(call.id);
    if (refusal === undefined) await abortOf(signal);
    else this.refusedCancellations.push(refusal);
    return running;
  }

  private faultOf({ saga, method }: TestCall): Fault | undefined {
    if (saga !== this.saga) return undefined;
    const fault = this.faults.find((one) => one.method === method && this.left.get(one)! > 0);
    if (fault) this.left.set(fault, this.left.get(fault)! - 1);
    return fault;
  }
}

function describe({ saga, id, step, method, index }: TestCall): string {
  const item = index === undefined ? '' : `[${index}]`;
  return `${method}() of step '${step}${item}' of saga '${saga}' (${id})`;
}

async function abortOf(signal: AbortSignal): Promise<void> {
  for (let turn = 0; turn < TURNS && !signal.aborted; turn += 1)
    await new Promise((resolve) => setImmediate(resolve));
}
