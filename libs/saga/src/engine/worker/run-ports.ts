import { AttemptRunner } from '../attempt/attempt-runner.js';
import { serializeError } from '../payload/serialize-error.js';
import type { SagaRunPorts } from '../run/saga-run-ports.js';
import type { Claimer } from './claimer.js';
import type { LeaseKeeper } from './lease-keeper.js';
import type { WorkerCapacity } from './worker-capacity.js';
import type { WorkerOptions, WorkerPorts } from './worker-ports.js';

/** The parts of a worker that its runs call. */
export interface RunHost {
  readonly claimer: Claimer;
  readonly leases: LeaseKeeper;
  readonly capacity: WorkerCapacity;
  /** Milliseconds of a lease. */
  readonly lease: number;
  readonly hasRoom: SagaRunPorts['hasRoom'];
}

/** Makes what the runs of a worker call, which is the same for each of them. */
export function runPortsOf(
  ports: WorkerPorts,
  { maxPayloadBytes, within }: Pick<WorkerOptions, 'maxPayloadBytes' | 'within'>,
  { claimer, leases, capacity, lease, hasRoom }: RunHost,
): SagaRunPorts {
  const { store, writers, retry, log } = ports;
  const now = () => ports.storeClock.now();
  // The run tries again. They are free once its lease is given back, and the next look of any worker calls the sagas that wait.
  const slotsKept = (error: unknown) => {
    log.warn(`Slots of a step could not be freed: ${serializeError(error).message}`);
    return false;
  };
  return {
    ...ports,
    store: {
      transact: (work) => writers.transact(work),
      edit: (target, change) => store.edit(target, change),
      isOutage: (error) => store.isOutage(error),
      isTransient: (error) => store.isTransient(error),
      refuses: (error) => store.refuses(error),
    },
    checkpoint: (checkpoint) => writers.checkpoint(checkpoint),
    answered: (duration) => capacity.answered(duration),
    reserve: (limit, attempts) => retry.run(() => store.reserve(limit, attempts)),
    takeSlots: (...asked) => retry.run(() => store.stepSlots.take(...asked)),
    freeSlots: (...freed) => retry.run(() => store.stepSlots.free(...freed)).then(() => true, slotsKept),
    pendingSignals: (id) => retry.run(() => store.pendingSignals(id)),
    claimSoon: () => claimer.claimSoon(),
    attempts: new AttemptRunner({ ...ports, maxPayloadBytes, now, within }),
    now,
    maxPayloadBytes,
    permits: { lead: 0 },
    lease,
    hasRoom,
    renew: (run, longer) => leases.renew([run], longer),
    asked: (run) => leases.askedOf(run),
    reportSoon: () => leases.reportSoon(),
  };
}
