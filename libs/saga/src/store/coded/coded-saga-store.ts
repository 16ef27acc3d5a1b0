import type { Durability } from '../../definition/options/saga-options.js';
import type { StoredOperation } from '../../engine/ports/operation.js';
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
  UnreadableSaga,
} from '../../engine/ports/saga-store.js';
import type { SagaRevision } from '../../engine/ports/put-back.js';
import type { StepOfSaga, StepPauseStore, WhoAndWhy } from '../../engine/ports/step-pause.js';
import type { ChangeSchedule, ScheduleEdited, StoredSchedule } from '../../engine/ports/stored-schedule.js';
import type { StoredTask, StoreTaskFilter } from '../../engine/ports/stored-task.js';
import type { Checkpoint, CheckpointResult } from '../../engine/ports/checkpoint.js';
import type {
  HeldLease,
  Lease,
  NewSaga,
  SentSignal,
  StoredSaga,
  StoredSignal,
} from '../../engine/ports/stored-saga.js';
import { SagaCodecError } from '../../errors.js';
import { AS_IT_IS, Coder, type Conversion } from './coder.js';
import { convertCheckpoint, convertEdit, convertInTurns, convertSaga } from './convert-saga.js';
import {
  convertCancelled,
  convertLease,
  convertNewSaga,
  convertOperation,
  convertSchedule,
  convertSignal,
  convertStepPause,
  convertSummary,
  convertWhoAndWhy,
  inputOf,
} from './private-fields.js';
import type { PayloadCodec } from './payload-codec.js';

type Held = { readonly id: string; readonly epoch: number };

/**
 * Another store, of which a codec encodes what sagas are given and give. Who uses it never sees that.
 *
 * Nothing is run with what cannot be decoded: a saga that is claimed here, and has something like that, is given back
 * at once, as if it had not been taken, and is due again after the time of a lease, for a process that has the key.
 * Without a codec, what is encoded is shown as it is stored, may be edited around, and is not run.
 */
export class CodedSagaStore implements SagaStore {
  private readonly coder: Coder;
  /** For those who only look, and for edits. */
  private readonly reading: Conversion;
  private readonly editing: Conversion;

  constructor(
    private readonly store: SagaStore,
    codec: PayloadCodec | undefined,
  ) {
    this.coder = new Coder(codec);
    this.reading = codec ? this.coder.decoding : AS_IT_IS;
    this.editing = codec ? this.coder.encoding : AS_IT_IS;
  }

  async prepare(): Promise<void> {
    await this.store.prepare?.();
  }

  async start(sagas: readonly NewSaga[], lease: Lease, durability?: Durability): Promise<StartResult[]> {
    const results = await this.store.start(
      sagas.map((saga) => convertNewSaga(saga, this.coder.encoding)),
      lease,
      durability,
    );
    return results.map((result) => this.readStart(result));
  }

  async startWithin(transaction: unknown, saga: NewSaga, lease: Lease): Promise<StartResult> {
    const encoded = convertNewSaga(saga, this.coder.encoding);
    return this.readStart(await this.store.startWithin(transaction, encoded, lease));
  }

  async checkpoint(checkpoints: readonly Checkpoint[], durability?: Durability): Promise<CheckpointResult[]> {
    const encoded = checkpoints.map((one) => convertCheckpoint(one, this.coder.encoding));
    return this.store.checkpoint(encoded, durability);
  }

  transact(work: (transaction: StepTransaction) => Promise<Checkpoint>): Promise<CheckpointResult> {
    return this.store.transact(async (transaction) =>
      convertCheckpoint(await work(transaction), this.coder.encoding),
    );
  }

  async claim(request: ClaimRequest): Promise<Claim> {
    const claim = await this.store.claim(request);
    const failures: SagaCodecError[] = [];
    const unreadable: Held[] = [];
    const sagas: StoredSaga[] = [];
    for (const saga of claim.sagas) {
      try {
        sagas.push(await convertInTurns(saga, this.coder.decoding));
      } catch (error) {
        failures.push(asCodecError(error));
        unreadable.push(saga);
      }
    }
    if (failures.length === 0) return sagas.length === 0 ? claim : { ...claim, sagas };
    const { lease } = request;
    // If it fails, they are due when their lease ends.
    await this.store.giveBack(unreadable, lease, lease.duration).catch(() => undefined);
    const failure = claim.failure ?? summaryOf(failures);
    // There may be places of a `concurrency` that they took.
    return { ...claim, sagas, failure, nextDueAt: Math.min(claim.now, claim.nextDueAt ?? Infinity) };
  }

  giveBack(leases: readonly Held[], lease: Lease, delay: number): Promise<void> {
    return this.store.giveBack(leases, lease, delay);
  }

  async renew(leases: readonly HeldLease[], lease: Lease): Promise<RenewResult> {
    const result = await this.store.renew(
      leases.map((held) => this.withEncodedReports(held)),
      lease,
    );
    if (result.cancelled.length === 0) return result;
    const cancelled = result.cancelled.map((asked) =>
      // The cancellation counts even if this process cannot decode its reason.
      this.asStored(asked, () => convertCancelled(asked, this.reading, { sagaId: asked.id })),
    );
    return { ...result, cancelled };
  }

  /** The lease counts even if its reports cannot be encoded: they are left out, since the next ones may be. */
  private withEncodedReports(held: HeldLease): HeldLease {
    if (held.reports === undefined) return held;
    try {
      return convertLease(held, this.coder.encoding);
    } catch {
      return { id: held.id, epoch: held.epoch };
    }
  }

  get stepSlots(): SagaStore['stepSlots'] {
    return this.store.stepSlots;
  }

  reserve(limit: RateRequest, attempts: number): Promise<Reservation> {
    return this.store.reserve(limit, attempts);
  }

  async load(target: StoreTarget): Promise<StoredSaga | undefined> {
    const saga = await this.store.load(target);
    return saga && convertInTurns(saga, this.reading);
  }

  async find(filter: StoreFilter): Promise<StoredSummary[]> {
    // A list is shown, whatever is in it.
    return (await this.store.find(filter)).map((row) =>
      this.asStored(row, () => convertSummary(row, this.reading)),
    );
  }

  async tasks(filter: StoreTaskFilter): Promise<StoredTask[]> {
    return (await this.store.tasks(filter)).map((task) => {
      const { id, operations } = task;
      return { ...task, operations: operations?.map((operation) => this.readOperation(operation, id)) };
    });
  }

  async edit(
    target: StoreTarget,
    change: (saga: StoredSaga, now: number) => Edit | undefined,
  ): Promise<StoredSaga | undefined> {
    const edited = await this.store.edit(target, (stored, now) => {
      const read = convertSaga(stored, this.reading);
      const edit = change(read, now);
      return edit && convertEdit(edit, { read, stored }, this.editing);
    });
    return edited && convertSaga(edited, this.reading);
  }

  async signal(
    signals: readonly (SentSignal & { readonly target: StoreTarget })[],
    awaited?: AwaitedSignals,
  ): Promise<SignalResult[]> {
    const encoded = signals.map((signal) => convertSignal(signal, this.coder.encoding));
    return this.store.signal(encoded, awaited);
  }

  async signalWithin(
    transaction: unknown,
    signal: SentSignal & { readonly target: StoreTarget },
    awaited?: AwaitedSignals,
  ): Promise<SignalResult> {
    return this.store.signalWithin(transaction, convertSignal(signal, this.coder.encoding), awaited);
  }

  async pendingSignals(id: string): Promise<readonly StoredSignal[]> {
    return (await this.store.pendingSignals(id)).map((signal) => convertSignal(signal, this.coder.decoding));
  }

  /** @throws SagaCodecError for what a parent would be given of them, and cannot be decoded */
  async ended(ids: readonly string[]): Promise<StoredSaga[]> {
    return (await this.store.ended(ids)).map((saga) => convertSaga(saga, this.coder.decoding));
  }

  revisions(ids: readonly string[]): Promise<readonly SagaRevision[]> {
    return this.store.revisions(ids);
  }

  missing(ids: readonly string[]): Promise<string[]> {
    return this.store.missing(ids);
  }

  async watch(ids: readonly string[]): Promise<(StoredSaga | UnreadableSaga)[]> {
    return (await this.store.watch(ids)).map((saga) => this.asFarAsReadable(saga));
  }

  async changes(watched: readonly SeenSaga[]): Promise<SagaChange[]> {
    return (await this.store.changes(watched)).map((change) => ({
      ...change,
      saga: change.saga && this.asFarAsReadable(change.saga),
    }));
  }

  private asFarAsReadable(saga: StoredSaga | UnreadableSaga): StoredSaga | UnreadableSaga {
    if ('unreadable' in saga) return saga;
    try {
      return convertSaga(saga, this.reading);
    } catch (error) {
      return { id: saga.id, unreadable: asCodecError(error) };
    }
  }

  catchUp(sagas: Parameters<SagaStore['catchUp']>[0]): Promise<void> {
    return this.store.catchUp(sagas);
  }

  markOverdue(names: readonly string[], limit: number): Promise<OverdueSaga[]> {
    return this.store.markOverdue(names, limit);
  }

  stats(): Promise<StoreStats> {
    return this.store.stats();
  }

  async history(id: string, limit: number): Promise<HistoryRecord[]> {
    const records = await this.store.history(id, limit);
    return records.map((record) => ('signal' in record ? record : this.readOperation(record, id)));
  }

  get pauses(): StepPauseStore {
    const { pauses } = this.store;
    const encoded = (who: WhoAndWhy, { step }: StepOfSaga) =>
      convertWhoAndWhy(who, this.coder.encoding, { step });
    return {
      all: async (resumed) => {
        const found = await pauses.all(resumed);
        // A step is paused even if this process cannot decode why.
        const read = found.pauses.map((pause) =>
          this.asStored(pause, () => convertStepPause(pause, this.reading)),
        );
        return { ...found, pauses: read };
      },
      pause: (step, who) => pauses.pause(step, encoded(who, step)),
      resume: (step, who) => pauses.resume(step, encoded(who, step)),
      wake: (step) => pauses.wake(step),
    };
  }

  async schedules(): ReturnType<SagaStore['schedules']> {
    const found = await this.store.schedules();
    return { ...found, schedules: found.schedules.map((schedule) => this.readSchedule(schedule)) };
  }

  async editSchedule(saga: string, change: ChangeSchedule): Promise<ScheduleEdited | undefined> {
    const edited = await this.store.editSchedule(saga, (stored, now) => {
      const read = stored && this.readSchedule(stored);
      const edit = change(read, now);
      if (!edit) return edit;
      const { start } = edit;
      // What the edit leaves as it is stays as it is stored: an encoding may give another text each time.
      const paused = edit.schedule.paused === read?.paused && stored?.paused;
      const schedule = paused ? { ...edit.schedule, paused } : convertSchedule(edit.schedule, this.editing);
      return { schedule, ...(start && { start: convertNewSaga(start, this.coder.encoding) }) };
    });
    return (
      edited && {
        ...edited,
        schedule: this.readSchedule(edited.schedule),
        ...(edited.start && { start: this.readStart(edited.start) }),
      }
    );
  }

  private readSchedule(schedule: StoredSchedule): StoredSchedule {
    return this.asStored(schedule, () => convertSchedule(schedule, this.reading));
  }

  get lastFailoverAt(): number {
    return this.store.lastFailoverAt;
  }

  isOutage(error: unknown): boolean {
    return this.store.isOutage(error);
  }

  isTransient(error: unknown): boolean {
    return this.store.isTransient(error);
  }

  refuses(error: unknown): boolean {
    return this.store.refuses(error);
  }

  private readStart(result: StartResult): StartResult {
    if (result.created || result.existing?.input === undefined) return result;
    const { existing } = result;
    try {
      const input = this.coder.decoding.json(existing.input!, inputOf, { sagaId: existing.id });
      return { created: false, existing: { ...existing, input } };
    } catch (error) {
      return { created: false, existing: { ...existing, unreadable: asCodecError(error) } };
    }
  }

  /** As far as it can be decoded here: the action counts even if this process cannot decode its reason. */
  private readOperation(done: StoredOperation, sagaId: string): StoredOperation {
    const read = (operation: StoredOperation) => convertOperation(operation, this.reading, { sagaId });
    try {
      return read(done);
    } catch {
      const { given: _, ...told } = done;
      return this.asStored(told, () => read(told));
    }
  }

  /** What cannot be decoded here is shown as it is stored. */
  private asStored<T>(stored: T, read: () => T): T {
    try {
      return read();
    } catch {
      return stored;
    }
  }
}

function asCodecError(error: unknown): SagaCodecError {
  if (error instanceof SagaCodecError) return error;
  throw error;
}

/** What the log says of sagas that were claimed and given back. */
function summaryOf([first, ...others]: readonly SagaCodecError[]): SagaCodecError {
  const more = others.length > 0 ? ` (and ${others.length} other saga(s) as well)` : '';
  return new SagaCodecError(
    `${first!.message.replace(/\.$/, '')}${more}. The lease is released for a process that can decode it.`,
    first!.sagaId,
    first!.keyId,
    { cause: first },
  );
}
