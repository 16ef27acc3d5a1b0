import { approvalSignal } from '../../definition/graph/saga-graph.js';
import type { RunnableSaga } from '../../engine/ports/invoker.js';
import type { SagaStore } from '../../engine/ports/saga-store.js';
import type { StoredSaga } from '../../engine/ports/stored-saga.js';
import { awaitsReply, awaitsSignal, isInProgress } from '../../machine/saga-state.js';
import { awaitedBy } from '../../machine/sub-sagas.js';

/** A signal or a decision that a saga waits for. */
export interface OpenQuestion {
  readonly kind: 'signal' | 'approval';
  /** The name of the signal, or of the approval's step. */
  readonly name: string;
}

/** Everything that a saga waits for and was not sent: parallel branches may each wait for something. */
export function openQuestions({ state, signals = [] }: StoredSaga): OpenQuestion[] {
  const { status } = state;
  if (!isInProgress(status)) return [];
  const sent = signals.map(({ name }) => name);
  return [...state.steps].flatMap(([step, one]): OpenQuestion[] => {
    const awaits = awaitsReply(one) || (status === 'running' && awaitsSignal(one) && !one.pruned);
    if (!awaits) return [];
    const { signal } = one.wait!;
    const at = sent.indexOf(signal);
    if (at >= 0) {
      // Steps that wait for one name take one signal each.
      sent.splice(at, 1);
      return [];
    }
    return [
      signal === approvalSignal(step) ? { kind: 'approval', name: step } : { kind: 'signal', name: signal },
    ];
  });
}

/** All sagas are in one process: what it does not run does not run at all. */
export interface ClosedWorld {
  readonly store: Pick<SagaStore, 'load'>;
  readonly registry: { readonly all: readonly RunnableSaga[] };
}

/**
 * True: however much time passes, nothing happens to this saga. It has no timer of its own, and neither have the
 * sub-sagas that it waits for, nor the saga that holds its lock.
 */
export async function isQuiet(
  saga: StoredSaga,
  world: ClosedWorld,
  seen: ReadonlySet<string> = new Set(),
): Promise<boolean> {
  if (!isInProgress(saga.state.status) || seen.has(saga.id) || !isRunnable(saga, world.registry)) return true;
  // With the lock comes the deadline, so a place in the queue is no timer.
  const holder = saga.lock?.holder;
  if (holder === undefined && saga.dueAt !== undefined) return false;
  const others = holder === undefined ? awaitedBy(saga.state).map(({ id }) => id) : [holder];
  for (const id of others) {
    const other = await world.store.load({ id });
    if (other && !(await isQuiet(other, world, new Set([...seen, saga.id])))) return false;
  }
  return true;
}

/** False: the process has neither the saga's class nor the provider of the step handler. */
function isRunnable({ name, version }: StoredSaga, registry: ClosedWorld['registry']): boolean {
  return registry.all.some(({ graph }) => graph.name === name && graph.version === version);
}
