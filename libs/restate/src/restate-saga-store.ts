import {
  type AwaitedSignals,
  type ChangeSchedule,
  type Checkpoint,
  type CheckpointResult,
  type Claim,
  type ClaimRequest,
  type Edit,
  type EngineLog,
  type ExistingSaga,
  type HeldLease,
  type HistoryRecord,
  isTerminal,
  type Lease,
  limitKey,
  type NewSaga,
  type OverdueSaga,
  type OwnTables,
  type RateRequest,
  type RenewResult,
  type Reservation,
  type SagaChange,
  SagaConfigurationError,
  type SagaRevision,
  type SagaStore,
  type ScheduleEdited,
  type SeenSaga,
  type SentSignal,
  type SignalResult,
  type StartResult,
  type StepSlotStore,
  type StepTransaction,
  type StoredSaga,
  type StoredSchedule,
  type StoredSignal,
  type StoredSummary,
  type StoredTask,
  type StoreFilter,
  type StoreStats,
  type StoreTarget,
  type StoreTaskFilter,
  queueKey,
  requireStorable,
  stepState,
  toExisting,
  type UnreadableSaga,
  UnstorableError,
  withStatus,
} from 'nestjs-durable-saga/internal/backend';
import { CommittedCalls } from './committed-calls.js';
import {
  CORRELATION,
  correlationKey,
  keysOfStart,
  LIMIT,
  LOCK,
  SAGA_SLOTS,
  SCHEDULE,
  slotKey,
} from './contracts.js';
import { addGraphs, type KeptSaga, NOBODY } from './kept-saga.js';
import { inOrder } from './in-order.js';
import type { Offers } from './offers.js';
import type { RestateCalls } from './restate-calls.js';
import { RestateClaim } from './restate-claim.js';
import { isOutage, isTransient, refusesData } from './restate-errors.js';
import type { RestateGraphStore } from './restate-graph-store.js';
import type { RestatePauses } from './restate-pauses.js';
import { StepCommits } from './step-commits.js';

/** What only another engine keeps. */
function refused(what: string): never {
  throw new SagaConfigurationError(`${what} is not available on Restate. Use the PostgreSQL engine for it.`);
}

function noDatabase(what: string): never {
  throw new SagaConfigurationError(
    `${what} needs a database beside Restate. Give SagaModule.forRoot({ dataSource }) or { database }.`,
  );
}

/**
 * Stores sagas in Restate: each is the state of a virtual object, and each change of it one invocation of that object, with the
 * rules of the store in memory. What concerns all sagas reads the state of all of them.
 */
export class RestateSagaStore implements SagaStore {
  constructor(
    private readonly calls: RestateCalls,
    private readonly offers: Offers,
    private readonly graphs: RestateGraphStore,
    readonly pauses: RestatePauses,
    /** Whether there is a broker. */
    private readonly publishes: boolean,
    own?: OwnTables & { readonly log: EngineLog },
  ) {
    if (!own) return;
    this.commits = new StepCommits(own);
    const makes = {
      start: (saga: NewSaga) => this.startOne(saga, NOBODY),
      signal: (id: string, signal: SentSignal) => this.signalStored({ ...signal, target: { id } }),
    };
    this.committed = new CommittedCalls(own, makes, own.log);
  }

  /** The application's transactions. Undefined: it has no database. */
  private readonly commits?: StepCommits;
  readonly committed?: CommittedCalls;

  readonly stepSlots: StepSlotStore = {
    take: (limit, holder, steps) => {
      const { now } = this.calls.caller;
      return this.limit(limit).take({ limit, holder, steps, now }, this.calls.opts);
    },
    free: (limit, holder, steps) => {
      const { now } = this.calls.caller;
      return this.limit(limit).free({ limit, holder, steps, now }, this.calls.opts);
    },
    sweep: async (sagas) => {
      const { now } = this.calls.caller;
      const names = new Set(sagas.map(({ name }) => name));
      const keys = await this.calls.keysOf('DurableSagaLimit', 'places');
      const limits = keys.filter((key) => names.has((JSON.parse(key) as [string])[0]));
      const { ingress } = this.calls.options;
      await Promise.all(
        limits.map((key) => ingress.client(LIMIT, key).sweep({ sagas, now }, this.calls.opts)),
      );
    },
  };

  async start(sagas: readonly NewSaga[], lease: Lease): Promise<StartResult[]> {
    requireStorable(sagas, 'sagas');
    return inOrder(sagas, keysOfStart, (saga) => this.startOne(saga, lease));
  }

  async startWithin(transaction: unknown, saga: NewSaga): Promise<StartResult> {
    const { committed = noDatabase('start({ transaction })') } = this;
    const { id, name, correlationId, fresh } = saga;
    if (saga.lockRejects) refused(`start({ transaction }) of saga '${name}', whose lock rejects others,`);
    requireStorable(saga, 'saga');
    return committed.within(transaction, `Saga '${name}'`, async (sql) => {
      const targets = [{ id }, ...(correlationId === undefined ? [] : [{ name, correlationId }])];
      for (;;) {
        const isKept = await committed.keep(sql, id, { start: saga });
        const pending = isKept
          ? undefined
          : await firstOf(targets, (target) => committed.startOf(sql, target));
        const existing = pending ?? (await firstOf(targets, (target) => this.existing(target)));
        const isOwn = existing?.id === id && fresh;
        if (isOwn || (isKept && !existing))
          return { created: true, leased: false, now: this.calls.options.now() };
        // It was made meanwhile, and deleted since.
        if (!existing) continue;
        if (isKept) await committed.drop(sql, id);
        return { created: false, existing };
      }
    });
  }

  async checkpoint(checkpoints: readonly Checkpoint[]): Promise<CheckpointResult[]> {
    return Promise.all(checkpoints.map((checkpoint) => this.writeCheckpoint(this.toSend(checkpoint))));
  }

  async transact(
    work: (transaction: StepTransaction) => Promise<Checkpoint>,
    held: Pick<HeldLease, 'id' | 'epoch'>,
  ): Promise<CheckpointResult> {
    const { commits = noDatabase('A transactional step') } = this;
    let made: Checkpoint | undefined;
    const result = await commits.transact(async (transaction) => {
      made = this.toSend(await work(transaction));
      return made;
    }, held);
    return result === 'saved' ? this.recorded(made!, held) : result;
  }

  async claim(request: ClaimRequest): Promise<Claim> {
    const claim = new RestateClaim(request, this.calls, this.offers, (saga) =>
      this.mayRun(saga, request.lease),
    );
    return claim.make();
  }

  async renew(leases: readonly HeldLease[], lease: Lease): Promise<RenewResult> {
    const { now } = this.calls.caller;
    const results = await Promise.all(
      leases.map((held) => this.calls.change<RenewResult>(held.id, 'renew', [[held], lease], { now })),
    );
    const renewed = results.map((one) => one!.result);
    return {
      lost: renewed.flatMap(({ lost }) => lost),
      cancelled: renewed.flatMap(({ cancelled }) => cancelled),
      paused: renewed.flatMap(({ paused }) => paused),
      now,
    };
  }

  async giveBack(
    leases: readonly { readonly id: string; readonly epoch: number }[],
    lease: Lease,
    delay: number,
  ): Promise<void> {
    // The engine gives runs, which are leases and much more.
    await Promise.all(
      leases.map(({ id, epoch }) => this.calls.change(id, 'giveBack', [[{ id, epoch }], lease, delay])),
    );
  }

  reserve(limit: RateRequest, attempts: number): Promise<Reservation> {
    const { now } = this.calls.caller;
    return this.limit(limit).reserve({ limit, attempts, now }, this.calls.opts);
  }

  async load(target: StoreTarget): Promise<StoredSaga | undefined> {
    const kept = await this.keptOf(target);
    const saga = kept && (await this.calls.storeOf([kept.row]).load({ id: kept.row.saga.id }));
    return saga && this.withSlots(await this.withHolder(saga));
  }

  async find(filter: StoreFilter): Promise<StoredSummary[]> {
    return (await this.calls.amongAll()).find(filter);
  }

  async tasks(filter: StoreTaskFilter): Promise<StoredTask[]> {
    return (await this.calls.amongAll()).tasks(filter);
  }

  async edit(
    target: StoreTarget,
    change: (saga: StoredSaga, now: number) => Edit | undefined,
  ): Promise<StoredSaga | undefined> {
    for (;;) {
      const kept = await this.keptOf(target);
      if (!kept) return undefined;
      const { saga } = kept.row;
      const { id } = saga;
      const mayHaveCommitted = saga.lockedBy !== undefined || saga.losses > 0;
      const unrecorded = mayHaveCommitted && (await this.commits?.unrecorded(saga));
      if (unrecorded) {
        await this.recorded(unrecorded, saga);
        continue;
      }
      const { now } = this.calls.caller;
      const before = await this.withHolder((await this.calls.storeOf([kept.row]).load({ id }))!);
      const edit = change(before, now);
      if (edit === undefined) return before;
      // It takes the saga from its worker. What that has committed meanwhile is found by the next try.
      if ('state' in edit && mayHaveCommitted) {
        const fenced = await this.commits?.fence({ ...saga, epoch: saga.epoch + 1 });
        if (fenced?.unrecorded) continue;
      }
      const changed = await this.calls.change<StoredSaga>(id, 'edit', [{ id }, edit], {
        revision: kept.revision,
        graphs: 'signal' in edit ? await this.graphsOf(before.name) : undefined,
      });
      if (changed) return this.withHolder(changed.result);
    }
  }

  signal(
    signals: readonly (SentSignal & { readonly target: StoreTarget })[],
    awaited?: AwaitedSignals,
  ): Promise<SignalResult[]> {
    return inOrder(
      signals,
      ({ target }) => ['id' in target ? target.id : correlationKey(target.name, target.correlationId)],
      (signal) => this.signalOne(signal, awaited),
    );
  }

  async signalWithin(
    transaction: unknown,
    { target, ...signal }: SentSignal & { readonly target: StoreTarget },
    awaited?: AwaitedSignals,
  ): Promise<SignalResult> {
    const { committed = noDatabase('signal({ transaction })') } = this;
    requireStorable(signal, 'signal');
    return committed.within(transaction, `Signal '${signal.name}'`, async (sql) => {
      const started = await committed.startOf(sql, target);
      const kept = started ? undefined : await this.keptOf(target);
      if (!started && !kept) return { outcome: 'unknown' };
      const store = this.calls.storeOf(kept ? [kept.row] : []);
      if (started) await store.start([started], NOBODY);
      const { id, name } = started ?? kept!.row.saga;
      if (awaited) await addGraphs(store, await this.graphsOf(name));
      const [result] = await store.signal([{ ...signal, target: { id } }], awaited);
      if (result!.outcome !== 'kept' || (await committed.keep(sql, id, { signal }))) return result!;
      return { ...result!, outcome: 'known' };
    });
  }

  /** Objects are looked at by the clock of Restate. */
  async catchUp(): Promise<void> {}

  async markOverdue(names: readonly string[], limit: number): Promise<OverdueSaga[]> {
    const ids = this.offers.takeOverdue(names, limit);
    const marked = await Promise.all(
      ids.map((id) => this.calls.change<OverdueSaga[]>(id, 'markOverdue', [names, 1])),
    );
    return marked.flatMap((one) => one!.result);
  }

  async stats(): Promise<StoreStats> {
    const [rows, pauses, unsent] = await Promise.all([
      this.calls.scan(),
      this.pauses.stored(),
      this.calls.unsent(),
    ]);
    return { ...(await this.calls.storeOf(rows, pauses).stats()), ...unsent };
  }

  async history(id: string, limit: number): Promise<HistoryRecord[]> {
    return (await this.calls.among([id])).history(id, limit);
  }

  async pendingSignals(id: string): Promise<readonly StoredSignal[]> {
    return (await this.calls.among([id])).pendingSignals(id);
  }

  async ended(ids: readonly string[]): Promise<StoredSaga[]> {
    return (await this.calls.among(ids)).ended(ids);
  }

  async watch(ids: readonly string[]): Promise<(StoredSaga | UnreadableSaga)[]> {
    const watched = await Promise.all(
      [...new Set(ids)].map((id) => this.calls.change<(StoredSaga | UnreadableSaga)[]>(id, 'watch', [[id]])),
    );
    return watched.flatMap((one) => one!.result);
  }

  async revisions(ids: readonly string[]): Promise<readonly SagaRevision[]> {
    return (await this.calls.among(ids)).revisions(ids);
  }

  async changes(watched: readonly SeenSaga[]): Promise<SagaChange[]> {
    return (await this.calls.among(watched.map(({ id }) => id))).changes(watched);
  }

  async missing(ids: readonly string[]): Promise<string[]> {
    const missing = async (of: readonly string[]) => (await this.calls.among(of)).missing(of);
    const { committed } = this;
    const found = await missing(ids);
    if (!committed || found.length === 0) return found;
    await Promise.all(found.map((id) => committed.make({ id })));
    return missing(found);
  }

  async schedules(): ReturnType<SagaStore['schedules']> {
    const names = await this.calls.keysOf('DurableSagaSchedule');
    const read = await Promise.all(names.map((name) => this.scheduleOf(name)));
    const schedules = await Promise.all(read.flatMap((one) => (one ? this.withStatusOfLast(one.value) : [])));
    return { schedules, now: this.calls.options.now() };
  }

  async editSchedule(saga: string, change: ChangeSchedule): Promise<ScheduleEdited | undefined> {
    for (;;) {
      const before = await this.scheduleOf(saga);
      const { now } = this.calls.caller;
      const edit = change(before && (await this.withStatusOfLast(before.value)), now);
      if (!edit) return undefined;
      const { ingress } = this.calls.options;
      const call = { revision: before?.revision ?? 0, edit, ...this.calls.caller };
      const edited = await ingress.client(SCHEDULE, saga).edit(call, this.calls.opts);
      if (edited) return { ...edited, schedule: await this.withStatusOfLast(edited.schedule), now };
    }
  }

  /** Restate loses nothing that it has acknowledged. */
  readonly lastFailoverAt = -Infinity;

  isOutage = isOutage;
  isTransient = isTransient;
  refuses = refusesData;

  /** Deletes what is kept in the application's database of sagas that are about to be deleted: nothing that is late has an effect any more. */
  async forget(ids: readonly string[]): Promise<void> {
    await this.commits?.forget(ids);
    await this.committed?.forget(ids);
  }

  /**
   * The checkpoint as it is sent: with the steps that it changes, and no others, which a codec has not encoded here.
   * @throws UnstorableError
   */
  private toSend(checkpoint: Checkpoint): Checkpoint {
    requireStorable(checkpoint, 'checkpoint');
    if (!this.publishes && checkpoint.messages?.length)
      throw new UnstorableError(
        'ctx.publish() needs a broker; give restateEngine() a transport, such as new ClientProxyTransport(client)',
      );
    const { state, changed } = checkpoint;
    const steps = new Map(changed.map((name) => [name, stepState(state, name)]));
    return { ...checkpoint, state: { ...state, steps } };
  }

  /**
   * Records what a transaction has committed. Whatever was asked of the saga meanwhile comes after it.
   * @param held the lease by which it is recorded
   */
  private recorded(committed: Checkpoint, { epoch }: Pick<HeldLease, 'epoch'>): Promise<CheckpointResult> {
    const checkpoint = { ...committed, epoch, cancelSeen: true, pauseSeen: true };
    return this.writeCheckpoint(checkpoint);
  }

  private writeCheckpoint(checkpoint: Checkpoint): Promise<CheckpointResult> {
    const { id, epoch, number } = checkpoint;
    return this.first(id, 'checkpoint', [[checkpoint]], `${epoch}:${number}`);
  }

  /** False: the saga that was claimed was not all that is committed, and is claimed anew, or it is another's by now. */
  private async mayRun(saga: StoredSaga, lease: Lease): Promise<boolean> {
    if (!this.commits || saga.losses === 0) return true;
    try {
      const { unrecorded, isLost } = await this.commits.fence(saga);
      if (!unrecorded) return !isLost;
      await this.recorded(unrecorded, saga);
    } catch (error) {
      await this.giveBack([saga], lease, lease.duration).catch(() => undefined);
      throw error;
    }
    await this.giveBack([saga], lease, 0);
    return false;
  }

  /** A saga, with what has committed for it. Undefined: there is none. */
  private async keptOf(target: StoreTarget): Promise<KeptSaga | undefined> {
    const kept = await this.read(target);
    if (kept || !this.committed) return kept;
    await this.committed.make(target);
    return this.read(target);
  }

  private async read(target: StoreTarget): Promise<KeptSaga | undefined> {
    const id = await this.calls.idOf(target);
    return id === undefined ? undefined : this.calls.read(id);
  }

  private async existing(target: StoreTarget): Promise<ExistingSaga | undefined> {
    const kept = await this.read(target);
    return kept && toExisting(kept.row);
  }

  private async startOne(saga: NewSaga, lease: Lease): Promise<StartResult> {
    const { id, name, correlationId } = saga;
    if (correlationId === undefined) return this.first(id, 'start', [[saga], lease]);
    const key = correlationKey(name, correlationId);
    const call = { saga, lease, ...this.calls.caller };
    const answer = await this.calls.options.ingress.client(CORRELATION, key).start(call, this.calls.opts);
    return (answer as { readonly result: readonly StartResult[] }).result[0]!;
  }

  private async signalOne(
    signal: SentSignal & { readonly target: StoreTarget },
    awaited?: AwaitedSignals,
  ): Promise<SignalResult> {
    const result = await this.signalStored(signal, awaited);
    if (result.outcome !== 'unknown' || !this.committed) return result;
    await this.committed.make(signal.target);
    return this.signalStored(signal, awaited);
  }

  private async signalStored(
    { target, ...signal }: SentSignal & { readonly target: StoreTarget },
    awaited?: AwaitedSignals,
  ): Promise<SignalResult> {
    const id = await this.calls.idOf(target);
    if (id === undefined) return { outcome: 'unknown' };
    const name = 'name' in target ? target.name : awaited && (await this.calls.read(id))?.row.saga.name;
    const graphs = awaited && name !== undefined ? await this.graphsOf(name) : undefined;
    const args = [[{ ...signal, target: { id } }], awaited];
    return (await this.calls.change<SignalResult[]>(id, 'signal', args, { graphs }))!.result[0]!;
  }

  /** As the object of its lock knows it: who has it. */
  private async withHolder(saga: StoredSaga): Promise<StoredSaga> {
    const { id, name, lock } = saga;
    if (!lock || lock.held) return saga;
    const { now, ingress } = this.calls.options;
    const key = queueKey(name, lock.key);
    const { held, holder } = await ingress.client(LOCK, key).holder({ id, now: now() }, this.calls.opts);
    return { ...saga, lock: { key: lock.key, held, ...(holder !== undefined && { holder }) } };
  }

  /** If it is due: how many slots of its limit are taken. */
  private async withSlots(saga: StoredSaga): Promise<StoredSaga> {
    const { name, limitKey, dueAt, lockedBy } = saga;
    const { now, ingress } = this.calls.options;
    if (lockedBy !== undefined || dueAt === undefined || dueAt > now()) return saga;
    const slots = ingress.client(SAGA_SLOTS, slotKey(name, limitKey));
    const slotsTaken = await slots.taken({ now: now() }, this.calls.opts);
    return slotsTaken > 0 ? { ...saga, slotsTaken } : saga;
  }

  /** The result of a method that takes several. */
  private async first<T>(
    id: string,
    method: 'start' | 'checkpoint',
    args: readonly unknown[],
    name?: string,
  ): Promise<T> {
    return (await this.calls.change<T[]>(id, method, args, {}, name))!.result[0]!;
  }

  private graphsOf(name: string): ReturnType<RestateGraphStore['stored']> {
    return this.graphs.stored([{ name }]);
  }

  private limit(limit: Parameters<typeof limitKey>[0]) {
    return this.calls.options.ingress.client(LIMIT, limitKey(limit));
  }

  private scheduleOf(saga: string) {
    return this.calls.options.ingress.client(SCHEDULE, saga).read(this.calls.opts);
  }

  private async withStatusOfLast(schedule: StoredSchedule): Promise<StoredSchedule> {
    if (!schedule.last) return schedule;
    const status = (await this.calls.read(schedule.last.id))?.row.saga.state.status;
    return withStatus(schedule, status && isTerminal(status) ? undefined : status);
  }
}

/** What is found for the first of these. Undefined: there is nothing for any of them. */
async function firstOf<T, R>(
  targets: readonly T[],
  find: (target: T) => Promise<R | undefined>,
): Promise<R | undefined> {
  for (const target of targets) {
    const found = await find(target);
    if (found !== undefined) return found;
  }
  return undefined;
}
