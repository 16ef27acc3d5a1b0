import { IN_PROGRESS } from '../../definition/types/saga-status.js';
import type { SagaGraph } from '../../definition/graph/saga-graph.js';
import type { SagaStore } from '../../engine/ports/saga-store.js';
import type { StoredSaga } from '../../engine/ports/stored-saga.js';
import { isTerminal } from '../../machine/saga-state.js';
import { waitOf, WAITS } from '../views/waiting-for.js';

/** A saga that has not ended, that nothing will move. */
export interface UnexplainedSaga {
  readonly id: string;
  /** The name of the saga. */
  readonly saga: string;
  /** A sentence without its subject and its end: why nothing moves the saga. */
  readonly problem: string;
}

/** Where sagas are looked through. */
export interface LookedThrough {
  readonly store: Pick<SagaStore, 'find' | 'load' | 'pauses'>;
  /** The graph of a saga. Undefined: this process does not have it, and the saga is not looked at. */
  readonly graphOf: (saga: StoredSaga) => SagaGraph | undefined;
}

const PAGE = 200;

/**
 * Returns the sagas that are in progress, held by no worker and due at no time, and that wait for nothing that could still
 * come. It reads only, and changes nothing. A saga that moves while it is looked at is not reported.
 * @param name of the sagas. Default: all
 */
export async function findUnexplained(within: LookedThrough, name?: string): Promise<UnexplainedSaga[]> {
  const found: UnexplainedSaga[] = [];
  for (let before: string | undefined; ;) {
    const filter = { name, status: IN_PROGRESS, before, limit: PAGE };
    const page = await within.store.find(filter);
    for (const { id } of page) {
      const problem = await problemOf(id, within);
      // What it waits for may have come in between.
      if (problem !== undefined && (await problemOf(id, within)) === problem)
        found.push({ id, saga: page.find((one) => one.id === id)!.name, problem });
    }
    if (page.length < PAGE) return found;
    before = page.at(-1)!.id;
  }
}

async function problemOf(id: string, { store, graphOf }: LookedThrough): Promise<string | undefined> {
  const { pauses, now } = await store.pauses.all(0);
  const saga = await store.load({ id });
  if (!saga || isTerminal(saga.state.status)) return undefined;
  const { lockedBy, dueAt } = saga;
  if (lockedBy !== undefined || dueAt !== undefined) return undefined;
  const graph = graphOf(saga);
  if (!graph) return undefined;
  const found = waitOf(saga, { graph, now, pauses: pauses.filter((one) => one.saga === saga.name) });
  if (!found) return 'waits for nothing that is stored';
  const { wait, name } = found;
  const { endedBy } = WAITS[name];
  if (endedBy === 'time' || ('until' in wait && wait.until))
    return `waits for a time (${name}), and is not due then`;
  if (wait.kind === 'lock') return awaitedProblem(wait.holder, 'that has its lock', store);
  if (wait.kind === 'sub-saga') return awaitedProblem(wait.id, `that step '${wait.step}' started`, store);
  if (endedBy !== 'signal' || !('step' in wait)) return undefined;
  const { signal } = saga.state.steps.get(wait.step!)!.wait!;
  const hasCome = saga.signals?.some((sent) => sent.name === signal);
  return hasCome ? `has received the signal '${signal}' that it waits for, and is not due` : undefined;
}

async function awaitedProblem(
  id: string,
  which: string,
  store: Pick<SagaStore, 'load'>,
): Promise<string | undefined> {
  const other = await store.load({ id });
  if (other && !isTerminal(other.state.status)) return undefined;
  return `waits for saga ${id} ${which}, which ${other ? `is ${other.state.status}` : 'does not exist'}`;
}
