import { handlerOf, type RemoteHandler, handlerSaga } from '../../definition/options/handler-name.js';
import type { SagaFailure, SerializedError } from '../../definition/types/saga-failure.js';
import { evolve } from '../../machine/evolve.js';
import { resultOf } from '../../machine/step-endings.js';
import { isInProgress } from '../../machine/saga-state.js';
import type { Invoker } from './invoker.js';
import type { Edit } from './saga-store.js';
import type { NewSaga, StoredSaga } from './stored-saga.js';

/**
 * A handler runs in a saga of one step. A remote step starts it as a sub-saga step starts its saga. The process that
 * starts it knows only its name and version. The process that has the handler has its graph. These are the differences.
 */

/** What the saga of a handler is started with: whose work it is, and what the handler is given. */
interface HandlerCall {
  readonly sagaId: string;
  readonly correlationId: string;
  readonly step: string;
  readonly input?: unknown;
}

/** @param input of the handler, JSON text */
export function newHandlerCall(
  { name, version }: RemoteHandler,
  caller: StoredSaga,
  step: string,
  input: string | undefined,
): Pick<NewSaga, 'name' | 'version' | 'input' | 'step'> {
  const { id: sagaId, correlationId = sagaId } = caller;
  const call = JSON.stringify({ sagaId, correlationId, step } satisfies HandlerCall);
  return {
    name: handlerSaga(name),
    version,
    input: input === undefined ? call : `${call.slice(0, -1)},"input":${input}}`,
    step: name,
  };
}

/** Calls a handler's methods, each with the context of the saga that asked. */
export function handlerInvoker(
  handler: string,
  method: string,
  call: (method: string, context: object) => unknown,
): Invoker {
  return (called, context) => call(called === handler ? method : called, forHandler(context));
}

/** The context belongs to one attempt. */
function forHandler(context: object): object {
  const { sagaId, correlationId, step, input } = (context as { input: HandlerCall }).input;
  const own = Object.entries({ sagaId, correlationId, step, input });
  return Object.defineProperties(
    context,
    Object.fromEntries(own.map(([name, value]) => [name, { value, enumerable: true }])),
  );
}

/** The id of the saga whose work this is: its own, unless it is a handler's. Who answers a message of it answers that one. */
export function askingSaga({ id, name, parent }: StoredSaga): string {
  return handlerOf(name) !== undefined && parent ? parent.id : id;
}

type FailureOfStep = { readonly kind?: SagaFailure['kind']; readonly error: SerializedError };

/** What the handler returned; JSON text. */
export function handlerResult(handler: string, { state }: StoredSaga): string | undefined {
  return resultOf(state, handler);
}

/** Why it failed: what the handler threw is what the remote step has thrown. */
export function handlerFailure(handler: string, { id, version, state }: StoredSaga): FailureOfStep {
  const { status, failure } = state;
  if (failure?.error && failure.kind !== 'cancelled') return { kind: failure.kind, error: failure.error };
  const why = failure?.reason ?? failure?.kind;
  return {
    error: {
      name: 'RemoteStepFailedError',
      message: `Handler '${handler}' version ${version} (${id}) was ${status}${why === undefined ? '' : `: ${why}`}`,
    },
  };
}

/**
 * Ends the saga of a handler that has started nothing, so that its parent does not wait for a process that has the
 * handler. Undefined: the handler may have started, or the saga is none of a handler.
 */
export function withdrawEdit(saga: StoredSaga, reason: string): Edit | undefined {
  const { status, steps } = saga.state;
  const untouched = [...steps.values()].every(({ attempts, unknown }) => attempts === 0 && !unknown);
  const graph = graphUnknownHere(saga);
  if (!graph || !isInProgress(status) || !untouched || saga.lockedBy !== undefined) return undefined;
  const cancelled = evolve(graph, saga.state, { type: 'cancelled', reason });
  const state = evolve(graph, cancelled, { type: 'settled', status: 'compensated' });
  return { state, due: false, step: '' };
}

/** What is certain of the graph of a handler that is another process's: it has no point of no return. */
export function graphUnknownHere({ name, version }: StoredSaga) {
  if (handlerOf(name) === undefined) return undefined;
  return { name, version, onFailure: 'compensate', steps: new Map() } as const;
}
