import type { Clock } from '../../shared/clock.js';
import type { StoreClock } from '../../shared/store-clock.js';
import type { EngineLog } from '../ports/engine-log.js';
import type { SagaStore } from '../ports/saga-store.js';
import type { SagaRun } from '../run/saga-run.js';
import type { OutcomeWaiters } from './outcome-waiters.js';
import type { Worker } from './worker.js';

/** Slots without progress are reported after this time (ms), and looked at again after as much. */
const STILL_FOR = 10_000;
/** Awaited sagas that one query asks for: the latest, since those before may have begun. */
const MOST_ASKED = 20;
/** Steps that the warning names. */
const MOST_NAMED = 5;

export interface BlockedSlotsPorts {
  readonly worker: Pick<Worker, 'fullSlots' | 'isInSlot' | 'holds' | 'runsHere'>;
  readonly waiters: Pick<OutcomeWaiters, 'ids'>;
  readonly store: Pick<SagaStore, 'changes'>;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly storeClock: Pick<StoreClock, 'now'>;
  readonly log: EngineLog;
}

/**
 * Warns of steps that fill all slots of a worker, while calls of this process wait for sagas that find none. Such a step
 * may be what calls: it then waits for itself. The engine does not know who calls, so the warning names all steps.
 */
export class BlockedSlots {
  private lookAt = -Infinity;
  /** The sagas that were in the slots at the last warning and still are here. None is left: the warning is over. */
  private warned: readonly string[] = [];

  constructor(private readonly ports: BlockedSlotsPorts) {}

  look(): void {
    const { worker, clock } = this.ports;
    this.warned = this.warned.filter((id) => worker.holds(id));
    const now = clock.monotonic();
    if (this.warned.length > 0 || now < this.lookAt) return;
    const still = stillSince(now - STILL_FOR, worker.fullSlots);
    if (still.length === 0) return;
    this.lookAt = now + STILL_FOR;
    // If the query fails, the next look asks again.
    void this.isAwaited().then(
      (isAwaited) => isAwaited && this.warn(still),
      () => undefined,
    );
  }

  /** Does a call wait for a saga that this worker would run if it had a slot? */
  private async isAwaited(): Promise<boolean> {
    const { worker, waiters, store, storeClock } = this.ports;
    const ids = [...waiters.ids()].filter((id) => !worker.isInSlot(id));
    if (ids.some((id) => worker.holds(id))) return true;
    if (ids.length === 0) return false;
    const changes = await store.changes(ids.slice(-MOST_ASKED).map((id) => ({ id })));
    return changes.some(
      ({ saga }) =>
        saga !== undefined &&
        !('unreadable' in saga) &&
        saga.dueAt !== undefined &&
        saga.dueAt <= storeClock.now() &&
        worker.runsHere(saga),
    );
  }

  private warn(still: readonly SagaRun[]): void {
    const { log, worker } = this.ports;
    const slots = [...(worker.fullSlots ?? [])];
    if (slots.length === 0) return;
    this.warned = still.map(({ id }) => id);
    log.warn(
      `All slots of this worker (${slots.length}) have been taken for ${STILL_FOR / 1_000} s without progress, and sagas whose ` +
        `outcome is awaited in this process find no slot. In progress: ${stepsOf(still)}. A step that awaits outcome() or ` +
        `wait() keeps its slot, so that the awaited saga may never start. Start it with @SubSaga(), which waits without a ` +
        `slot, or set a higher worker.concurrency.`,
    );
  }
}

/** The runs that show no sign of progress, if every slot is taken and no attempt has begun since then. */
function stillSince(time: number, slots: Iterable<SagaRun> | undefined): SagaRun[] {
  const still: SagaRun[] = [];
  for (const run of slots ?? []) {
    const attempts = run.attempts.all;
    if (attempts.length === 0 || attempts.some(({ startedAt }) => startedAt > time)) return [];
    if (!attempts.some(({ beatAt = time }) => beatAt > time)) still.push(run);
  }
  return still;
}

/** As in 'order.pay (2), mail.send': the step that is in progress most often first. */
function stepsOf(runs: readonly SagaRun[]): string {
  const counts = new Map<string, number>();
  for (const { saga, attempts } of runs)
    for (const step of new Set(attempts.all.map(({ action }) => `${saga.name}.${action.node.name}`)))
      counts.set(step, (counts.get(step) ?? 0) + 1);
  const named = [...counts].toSorted(([, one], [, other]) => other - one);
  const shown = named.slice(0, MOST_NAMED).map(([step, count]) => (count > 1 ? `${step} (${count})` : step));
  if (named.length > MOST_NAMED) shown.push('…');
  return shown.join(', ');
}
