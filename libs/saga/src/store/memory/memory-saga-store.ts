import type { EntityManager } from 'typeorm';
import { loadedOperations } from '../../engine/ports/operation.js';
import type {
  AwaitedSignals,
  Claim,
  ClaimRequest,
  Edit,
  HistoryRecord,
  OverdueSaga,
  RateRequest,
  RenewResult,
  Reservation,
  SagaChange,
  SagaStore,
  SeenSaga,
  SignalResult,
  StartResult,
  StepTransaction,
  StoredSummary,
  StoreFilter,
  StoreStats,
  StoreTarget,
} from '../../engine/ports/saga-store.js';
import type { PutBack, SagaRevision } from '../../engine/ports/put-back.js';
import type { ChangeSchedule, ScheduleEdited } from '../../engine/ports/stored-schedule.js';
import type { StoredTask, StoreTaskFilter } from '../../engine/ports/stored-task.js';
import type { Checkpoint, CheckpointResult, StoredMessage } from '../../engine/ports/checkpoint.js';
import type {
  HeldLease,
  Lease,
  NewSaga,
  SentSignal,
  StoredSaga,
  StoredSignal,
} from '../../engine/ports/stored-saga.js';
import { isInProgress, isSettled, isTerminal } from '../../machine/saga-state.js';
import {
  matches,
  type MemoryRow,
  newRow,
  pendingSignalsOf,
  record,
  rowTakesLease,
  toExisting,
  sagaOfRow,
  summaryOfRow,
  waitsUntil,
} from './memory-row.js';
import { MemoryRows } from './memory-rows.js';
import { findTasks } from './memory-tasks.js';
import { changesOf, historyOf, markOverdue, statsOf } from './memory-reports.js';
import { sendSignal } from './memory-signals.js';
import { replaceState } from './memory-edits.js';
import { MemoryFamilies } from './memory-families.js';
import { MemoryGraphStore } from './memory-graph-store.js';
import { MemoryLockQueues } from './memory-lock-queues.js';
import { MemoryClaims } from './memory-claims.js';
import { MemoryCleanup } from './memory-cleanup.js';
import { renewLeases } from './memory-leases.js';
import { MemorySchedules } from './memory-schedules.js';
import { fenceLost, prepareRow, revisionsOf } from './memory-put-back.js';
import type { StoredStepPause } from '../../engine/ports/step-pause.js';
import { MemoryPauses } from './memory-pauses.js';
import { MemoryRates } from './memory-rates.js';
import { MemorySlots } from './memory-slots.js';
import { MemoryStepSlots } from './memory-step-slots.js';
import { MemoryWakeup } from './memory-wakeup.js';
import { requireStorable, storedCopy, UnstorableError } from './stored-copy.js';

export interface MemorySagaStoreOptions {
  /** The store's clock, milliseconds since the epoch; default: Date.now. Give your own for virtual time. */
  readonly now?: () => number;
  /** Where the store announces what happened. Default: no process receives it. */
  readonly wakeup?: MemoryWakeup;
  /** What transactional steps are given as `ctx.manager`; default: undefined. */
  readonly manager?: EntityManager;
  /** The sagas that it has from the start, which it changes; default: none. */
  readonly rows?: Iterable<MemoryRow>;
  /** The pauses of steps that it has from the start; default: none. */
  readonly pauses?: readonly StoredStepPause[];
  /** Makes its semantic locks; default: those of its own sagas. */
  readonly locks?: typeof locksOf;
}

function locksOf(families: MemoryFamilies, announceDue: () => void): MemoryLockQueues {
  return new MemoryLockQueues(families, announceDue);
}

/** Takes no lease. */
const NOBODY: Lease = { worker: '', duration: 0 };

/**
 * Stores sagas in the memory of this process, for tests without a database. It keeps every promise of the port except
 * two: nothing survives the process, and there are no transactions. `startWithin` stores at once. `transact` gives
 * `work` the `manager` of the options and cannot roll back what `work` wrote elsewhere.
 *
 * Each method runs in one go, which is what makes it atomic: there is no await between looking and writing.
 */
export class MemorySagaStore implements SagaStore {
  private readonly index = new MemoryRows();
  private readonly rows: ReadonlyMap<string, MemoryRow> = this.index.byId;
  readonly graphs = new MemoryGraphStore(this.rows, () => this.now());
  /** Messages that checkpoints have published, in order. They are never sent. */
  readonly outbox: StoredMessage[] = [];
  private readonly rates = new MemoryRates((id, at) => waitsUntil(this.rows.get(id), at));
  private readonly storedSchedules = new MemorySchedules((id) => this.rows.get(id)?.saga.state.status);
  private readonly lockQueues: MemoryLockQueues;
  readonly pauses: MemoryPauses;
  readonly cleanup = new MemoryCleanup(this.index, () => this.now());
  private readonly slots = new MemorySlots();
  readonly stepSlots = new MemoryStepSlots(
    this.rows,
    () => this.now(),
    (id, since) => this.wake(id, since),
  );
  private readonly claims: MemoryClaims;
  private readonly now: () => number;
  private readonly wakeup: MemoryWakeup;

  constructor(private readonly options: MemorySagaStoreOptions = {}) {
    this.now = options.now ?? (() => Date.now());
    this.wakeup = options.wakeup ?? new MemoryWakeup();
    this.pauses = new MemoryPauses(this.rows, this.wakeup, this.now, options.pauses);
    const { locks = locksOf } = options;
    this.lockQueues = locks(new MemoryFamilies(this.rows), () => this.wakeup.announceDue());
    this.claims = new MemoryClaims(this.index, this.slots, this.lockQueues, this.wakeup);
    for (const row of options.rows ?? []) this.index.add(row);
  }

  /** All its sagas, as they are now. */
  get all(): Iterable<MemoryRow> {
    return this.rows.values();
  }

  async start(sagas: readonly NewSaga[], lease: Lease): Promise<StartResult[]> {
    requireStorable(sagas, 'sagas');
    const now = this.now();
    return sagas.map((saga) => this.insert(saga, lease, now));
  }

  async startWithin(_transaction: unknown, saga: NewSaga, lease: Lease): Promise<StartResult> {
    requireStorable(saga, 'saga');
    const result = this.insert(saga, lease, this.now());
    const dueNow = !saga.leased && saga.delay === undefined && saga.startAt === undefined;
    if (result.created && dueNow) this.wakeup.announceDue();
    return result;
  }

  async checkpoint(checkpoints: readonly Checkpoint[]): Promise<CheckpointResult[]> {
    requireStorable(checkpoints, 'checkpoints');
    const now = this.now();
    return checkpoints.map((checkpoint) => this.save(checkpoint, now));
  }

  async transact(work: (transaction: StepTransaction) => Promise<Checkpoint>): Promise<CheckpointResult> {
    const { manager } = this.options;
    const checkpoint = await work({ transaction: manager, manager });
    requireStorable(checkpoint, 'checkpoint');
    return this.save(checkpoint, this.now());
  }

  async claim(request: ClaimRequest): Promise<Claim> {
    return this.claims.claim(request, this.now());
  }

  async giveBack(
    leases: readonly { readonly id: string; readonly epoch: number }[],
    { worker }: Lease,
    delay: number,
  ): Promise<void> {
    for (const { id, epoch } of leases) {
      const saga = this.rows.get(id)?.saga;
      if (saga?.epoch !== epoch || saga.lockedBy !== worker) continue;
      saga.lockedBy = undefined;
      saga.dueAt = this.now() + delay;
    }
  }

  async renew(leases: readonly HeldLease[], lease: Lease): Promise<RenewResult> {
    return renewLeases(this.rows, leases, lease, this.now());
  }

  async reserve(limit: RateRequest, attempts: number): Promise<Reservation> {
    return this.rates.reserve(limit, attempts, this.now());
  }

  async load(target: StoreTarget): Promise<StoredSaga | undefined> {
    const row = this.index.of(target);
    return row && this.toLoaded(row);
  }

  async find(filter: StoreFilter): Promise<StoredSummary[]> {
    return [...this.rows.values()]
      .filter((row) => matches(row, filter, this.now()))
      .sort((a, b) => (a.saga.id < b.saga.id ? 1 : -1))
      .slice(0, filter.limit)
      .map(summaryOfRow);
  }

  async tasks(filter: StoreTaskFilter): Promise<StoredTask[]> {
    return findTasks(this.rows.values(), filter, (row) => this.toLoaded(row));
  }

  async edit(
    target: StoreTarget,
    change: (saga: StoredSaga, now: number) => Edit | undefined,
  ): Promise<StoredSaga | undefined> {
    const row = this.index.of(target);
    if (!row) return undefined;
    const now = this.now();
    const edit = change(this.toLoaded(row), now);
    if (edit !== undefined) this.apply(row, edit, now);
    return this.toLoaded(row);
  }

  async catchUp(sagas: Parameters<SagaStore['catchUp']>[0]): Promise<void> {
    this.claims.catchUp(sagas, this.now());
  }

  async markOverdue(names: readonly string[], limit: number): Promise<OverdueSaga[]> {
    return markOverdue([...this.rows.values()], names, limit, this.now());
  }

  async stats(): Promise<StoreStats> {
    return statsOf([...this.rows.values()], this.pauses.names, this.outbox.length, this.now());
  }

  async history(id: string, limit: number): Promise<HistoryRecord[]> {
    const row = this.rows.get(id);
    return row ? historyOf(row).slice(-limit) : [];
  }

  /** As if every lease that is held had just run out: their workers are gone. */
  loseLeases(): void {
    for (const { saga } of this.rows.values()) if (saga.lockedBy !== undefined) saga.dueAt = this.now();
    this.wakeup.announceDue();
  }

  async signal(
    signals: readonly (SentSignal & { readonly target: StoreTarget })[],
    awaited?: AwaitedSignals,
  ): Promise<SignalResult[]> {
    requireStorable(signals, 'signals');
    const now = this.now();
    return signals.map(({ target, ...signal }) => {
      const row = this.index.of(target);
      return row ? sendSignal(row, signal, now, this.wakeup, this.graphs, awaited) : { outcome: 'unknown' };
    });
  }

  async signalWithin(
    _transaction: unknown,
    signal: SentSignal & { readonly target: StoreTarget },
    awaited?: AwaitedSignals,
  ): Promise<SignalResult> {
    return (await this.signal([signal], awaited))[0]!;
  }

  async pendingSignals(id: string): Promise<readonly StoredSignal[]> {
    const row = this.rows.get(id);
    return storedCopy((row && pendingSignalsOf(row)) ?? []);
  }

  async ended(ids: readonly string[]): Promise<StoredSaga[]> {
    const rows = [...new Set(ids)].flatMap((id) => this.rows.get(id) ?? []);
    return rows.filter(({ saga }) => isTerminal(saga.state.status)).map(sagaOfRow);
  }

  async watch(ids: readonly string[]): Promise<StoredSaga[]> {
    const rows = [...new Set(ids)].flatMap((id) => this.rows.get(id) ?? []);
    const settled = rows.filter(({ saga }) => isSettled(saga.state.status));
    for (const row of rows) row.watched ||= !settled.includes(row);
    return settled.map(sagaOfRow);
  }

  async revisions(ids: readonly string[]): Promise<SagaRevision[]> {
    return revisionsOf(this.index, ids);
  }

  async changes(watched: readonly SeenSaga[]): Promise<SagaChange[]> {
    return changesOf(this.rows, watched, (row) => this.toLoaded(row));
  }

  async missing(ids: readonly string[]): Promise<string[]> {
    return [...new Set(ids)].filter((id) => !this.rows.has(id));
  }

  async schedules(): ReturnType<SagaStore['schedules']> {
    return { schedules: this.storedSchedules.all(), now: this.now() };
  }

  async editSchedule(saga: string, change: ChangeSchedule): Promise<ScheduleEdited | undefined> {
    const now = this.now();
    const start = (given: NewSaga): StartResult => {
      requireStorable(given, 'saga');
      const result = this.insert(given, NOBODY, now);
      if (result.created) this.wakeup.announceDue();
      return result;
    };
    const edited = this.storedSchedules.edit(saga, (stored) => change(stored, now), start);
    return edited && { ...edited, now };
  }

  /** Errors in memory are permanent. */
  readonly lastFailoverAt = -Infinity;

  isOutage(error: unknown): boolean {
    return this.isTransient(error);
  }

  isTransient(_error: unknown): boolean {
    return false;
  }

  refuses(error: unknown): boolean {
    return error instanceof UnstorableError;
  }

  private insert(given: NewSaga, lease: Lease, now: number): StartResult {
    const conflict = this.index.conflictOf(given);
    if (conflict?.saga.id === given.id && given.fresh) {
      const { lockedBy, epoch } = conflict.saga;
      return { created: true, leased: rowTakesLease(given) && lockedBy === lease.worker && epoch === 1, now };
    }
    if (conflict) return { created: false, existing: toExisting(conflict) };
    const lockHolder = given.lockRejects && this.lockQueues.holderOf(given.name, given.lockKey!, now);
    if (lockHolder !== undefined) return { created: false, lockHolder };
    const row = newRow(given, lease, now);
    this.index.add(row);
    this.lockQueues.arrive(row);
    return { created: true, leased: rowTakesLease(given), now };
  }

  private save(checkpoint: Checkpoint, now: number): CheckpointResult {
    const row = this.rows.get(checkpoint.id);
    if (row?.saga.epoch !== checkpoint.epoch) return 'fenced';
    if (fenceLost(row, checkpoint, now)) {
      this.wakeup.announceDue();
      return 'fenced';
    }
    const { saga } = row;
    if (saga.checkpoints >= checkpoint.number) return 'saved';
    if (saga.cancelRequested && !checkpoint.cancelSeen) return 'cancelled';
    if (saga.pauseRequested && !checkpoint.pauseSeen) return 'cancelled';
    saga.checkpoints = checkpoint.number;
    record(row, checkpoint, now);
    if (checkpoint.tags) saga.tags = storedCopy(checkpoint.tags);
    if (checkpoint.release) {
      saga.lockedBy = undefined;
      const again = row.woken && isInProgress(row.saga.state.status);
      const isResumed = this.pauses.isResumed(saga.name, checkpoint);
      saga.dueAt = again || isResumed ? now : checkpoint.release.dueAt;
      if (again) this.wakeup.announceDue();
    }
    // The children are due at once, without a lease: any worker may claim them.
    for (const child of checkpoint.starts ?? []) this.insert(child, NOBODY, now);
    if (checkpoint.starts?.length) this.wakeup.announceDue();
    this.outbox.push(...storedCopy(checkpoint.messages ?? []));
    this.settle(row, now);
    return 'saved';
  }

  private apply(row: MemoryRow, edit: Edit, now: number): void {
    const { saga } = row;
    requireStorable(edit, 'edit');
    if (edit.operation) row.operations.push(storedCopy({ ...edit.operation, at: now }));
    if ('proposal' in edit) return;
    if ('requestPause' in edit) {
      saga.pauseRequested = true;
      this.wakeup.announce({ type: 'look', id: saga.id });
      return;
    }
    if ('requestCancel' in edit) {
      saga.cancelRequested ??= { reason: edit.requestCancel.reason };
      saga.pauseRequested = undefined;
      this.wakeup.announce({ type: 'look', id: saga.id });
      return;
    }
    if ('signal' in edit) return void sendSignal(row, edit.signal, now, this.wakeup, this.graphs);
    if ('putBack' in edit) return this.putBack(row, edit.putBack, now);
    const held = saga.lockedBy !== undefined;
    replaceState(row, edit, now);
    this.lockQueues.rejoin(row);
    this.settle(row, now);
    // It may have been first in the queue without the lock. If it is not due any more, others do not wait for it.
    if (row.lock && this.lockQueues.handOver(saga.name, row.lock.key, now)) this.wakeup.announceDue();
    if (saga.dueAt !== undefined) this.wakeup.announceDue();
    if (held) this.wakeup.announce({ type: 'look', id: saga.id });
  }

  private putBack(row: MemoryRow, given: PutBack, now: number): void {
    prepareRow(row, given, now);
    if (given.createdAt !== undefined) this.lockQueues.goFirst(row);
    this.save(given.checkpoint, now);
    row.saga.updatedAt = given.storedAt;
    if (!given.lease) this.wakeup.announceDue();
  }

  /** An idle saga is never due. The calls that wait for it to settle are resolved. */
  private settle(row: MemoryRow, now: number): void {
    const { saga, watched } = row;
    if (!isInProgress(saga.state.status)) saga.dueAt = undefined;
    if (this.lockQueues.leave(row, now)) this.wakeup.announceDue();
    if (saga.parent && isTerminal(saga.state.status)) this.wake(saga.parent.id, now);
    if (watched && isSettled(saga.state.status)) this.wakeup.announce({ type: 'settled', id: saga.id });
  }

  /** Lets a saga look at what it waits for, now or once it is given back. */
  wake(id: string, now: number): void {
    const row = this.rows.get(id);
    if (!row) return;
    row.woken = true;
    if (row.saga.lockedBy !== undefined) return this.wakeup.announce({ type: 'look', id });
    if (isInProgress(row.saga.state.status)) row.saga.dueAt = now;
    this.wakeup.announceDue();
  }

  private toLoaded(row: MemoryRow): StoredSaga {
    const saga = sagaOfRow(row);
    const now = this.now();
    const holder = this.lockQueues.holderFor(row, now);
    const taken = saga.dueAt !== undefined && saga.dueAt <= now ? this.slots.taken(row.saga, now) : 0;
    return {
      ...saga,
      ...(saga.lock && holder !== undefined && { lock: { ...saga.lock, holder } }),
      ...(taken > 0 && { slotsTaken: taken }),
      ...(row.operations.length > 0 && {
        operations: storedCopy(loadedOperations(row.operations, saga.checkpoints)),
      }),
    };
  }
}
