import { systemClock } from '../shared/clock.js';
import { newId as newUuid } from '../shared/new-id.js';
import { StoreClock } from '../shared/store-clock.js';
import type { EngineOptions } from './engine-options.js';
import { OverdueWatch } from './observe/overdue-watch.js';
import { SagaObservers } from './observe/saga-observers.js';
import { StepPauses } from './pause/step-pauses.js';
import type { EngineLog } from './ports/engine-log.js';
import type { RunnableSaga } from './ports/invoker.js';
import type { SagaDefinitions } from './ports/saga-definitions.js';
import type { SagaStore } from './ports/saga-store.js';
import type { Lease } from './ports/stored-saga.js';
import type { Wakeup } from './ports/wakeup.js';
import { ScheduleTicker } from './schedule/schedule-ticker.js';
import type { SagaBindings } from './versions/saga-bindings.js';
import { WakeupHandler } from './wakeup-handler.js';
import { BlockedSlots } from './worker/blocked-slots.js';
import { OutcomeWaiters, type OutcomeWaitersOptions } from './worker/outcome-waiters.js';
import { SagaWatchers } from './worker/saga-watchers.js';
import { SlotWatch } from './worker/slot-watch.js';
import { Submissions } from './worker/submissions.js';
import { Worker } from './worker/worker.js';
import type { RunListener } from './worker/worker-ports.js';
import { isTerminal } from '../machine/saga-state.js';
import { Recovery } from './write/recovery.js';
import { SagaEdits } from './write/saga-edits.js';
import { SagaWriters } from './write/saga-writers.js';
import { StoreRetry } from './write/store-retry.js';

/** What an engine is made of that comes from outside. */
export interface EnginePorts {
  readonly store: SagaStore;
  readonly wakeup: Wakeup;
  readonly definitions: SagaDefinitions;
  readonly bindings: SagaBindings;
  readonly log: EngineLog;
}

/** How long (ms) a saga that is waited for may take to be taken up here, before its row is marked. */
const WATCH_MAX_WAIT_MS = 50;

/** How often (ms) a saga that is watched, and runs elsewhere, is asked for while it changes. */
const WATCH_INTERVAL_MS = 250;

/** The parts of the engine of one process. */
export type EngineParts = ReturnType<typeof buildParts>;

/**
 * Builds the parts of an engine and connects them.
 * @param sagas those that the worker runs
 */
export function buildParts(given: EnginePorts, sagas: readonly RunnableSaga[], options: EngineOptions) {
  // Parts that are built before the worker call it later.
  const running: { worker?: Worker } = {};
  const { store, wakeup, log } = given;
  const { clock = systemClock, random = Math.random, newId = newUuid, maxPayloadBytes } = options;
  const observers = options.observers ?? new SagaObservers(log);
  const lease: Lease = { worker: options.workerId, duration: options.lease };
  const storeClock = new StoreClock(clock);
  const ports = { ...given, observers, clock, storeClock, random, newId };
  const recovery =
    options.recovery &&
    new Recovery(options.recovery, {
      ...{ ...ports, lease },
      runsUnder: (id) => running.worker?.epochOf(id),
      look: (id) => running.worker?.look(id),
    });
  const retry = new StoreRetry({ store, clock, random, log, recovered: () => recovery?.ready() });
  const shared = { ...ports, retry, recovery };
  const writers = new SagaWriters({ ...shared, lease });
  const edits = new SagaEdits(shared);
  const waiters = new OutcomeWaiters({
    ...{ store: watchedStore(store, recovery), clock },
    runsHere: (id) => running.worker?.holds(id) ?? false,
    patience: options.worker ? WATCH_MAX_WAIT_MS : 0,
  });
  const watchers = new SagaWatchers({ store, clock, interval: options.watchInterval ?? WATCH_INTERVAL_MS });
  observers.hintTo((id) => watchers.hint(id));
  // Only a process that runs a saga reports that it is overdue, frees the slots of its steps, and starts it by its schedule.
  const graphs = options.worker ? sagas.map(({ graph }) => graph) : [];
  const overdue = new OverdueWatch(graphs, shared);
  const slots = new SlotWatch(graphs, shared);
  const scheduled = options.schedules === false ? [] : graphs;
  const schedules = new ScheduleTicker(scheduled, { ...shared, maxPayloadBytes });
  const pauses = new StepPauses({ ...shared, changed: (names) => running.worker?.decideAgain(names) });
  if (options.worker) {
    const listener = listenerFor(waiters, watchers);
    const workerPorts = { ...shared, writers, edits, pauses, listener };
    running.worker = new Worker(sagas, { ...options, ...options.worker }, lease, workerPorts);
  }
  const { worker } = running;
  const blocked = worker && new BlockedSlots({ ...shared, worker, waiters });
  const wakeups = new WakeupHandler({ wakeup, worker, waiters, watchers, overdue, slots, pauses, blocked });
  const submissions = new Submissions({
    ...{ writers, lease, worker, clock, storeClock },
    announceDue: () => wakeups.announceDue(),
  });
  return {
    ...{ observers, lease, storeClock, recovery, retry, writers, edits, waiters, watchers },
    ...{ overdue, slots, schedules, pauses, worker, wakeups, submissions },
  };
}

/** A saga that is missing may yet be put back after a failover, and one that has ended elsewhere is not started again. */
function watchedStore(store: SagaStore, recovery: Recovery | undefined): OutcomeWaitersOptions['store'] {
  return {
    watch: async (ids) => {
      const settled = await store.watch(ids);
      for (const saga of settled)
        if (!('unreadable' in saga) && isTerminal(saga.state.status)) recovery?.recent.ended(saga.id);
      return settled;
    },
    missing: async (ids) => (recovery?.isRecent ? [] : store.missing(ids)),
  };
}

function listenerFor(waiters: OutcomeWaiters, watchers: SagaWatchers): RunListener {
  return {
    settled: (saga) => waiters.settled(saga),
    left: (id) => waiters.left(id),
    reported: (id) => watchers.hint(id),
  };
}
