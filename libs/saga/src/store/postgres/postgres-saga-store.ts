import type { Durability } from '../../definition/options/saga-options.js';
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
import type { SagaRevision } from '../../engine/ports/put-back.js';
import type { ChangeSchedule, ScheduleEdited } from '../../engine/ports/stored-schedule.js';
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
import type { EngineSql } from './connection/engine-sql.js';
import type { Sql } from './connection/sql.js';
import { editSchedule, type ScheduleRow, toStoredSchedule } from './edit/edit-schedule.js';
import { StepSlots } from './claim/step-slots.js';
import { type Nullable, withoutNulls } from './read/without-nulls.js';
import { sendSignals } from './signals/postgres-signals.js';
import { PostgresPauses } from './pauses/postgres-pauses.js';
import { fieldArrays } from './checkpoint/column-values.js';
import type { Held, SagaInstances } from './instance-statements.js';
import { DEFAULT_SCHEMA } from './schema/saga-entities.js';
import { sagaTables } from './saga-tables.js';
import { SchemaStatements } from './schema-statements.js';
import { PAGE_BYTES, type ReadBounds } from './read/saga-reader.js';
import type { SagaSteps } from './step-statements.js';
import { sendWithin } from './connection/transaction-watch.js';
import { isOutage, isTransientError, refusesData } from './connection/transient-errors.js';

/** Takes no lease. */
const NOBODY: Lease = { worker: '', duration: 0 };

/** Sagas in PostgreSQL. */
export class PostgresSagaStore implements SagaStore {
  private readonly on: SchemaStatements;
  private readonly instances: SagaInstances;
  private readonly steps: SagaSteps;
  readonly stepSlots: StepSlots;
  readonly pauses: PostgresPauses;

  constructor(
    private readonly sql: EngineSql,
    readonly schema: string = DEFAULT_SCHEMA,
    { pageBytes = PAGE_BYTES }: ReadBounds = {},
  ) {
    this.on = new SchemaStatements(sql, schema, pageBytes);
    const { instances, steps } = sagaTables(this.on);
    this.instances = instances;
    this.steps = steps;
    const { query, texts, channel } = this.on;
    this.pauses = new PostgresPauses(query, texts, channel);
    this.stepSlots = new StepSlots(query, texts);
  }

  prepare(): Promise<void> {
    return this.on.calls.prepare();
  }

  start(sagas: readonly NewSaga[], lease: Lease, durability?: Durability): Promise<StartResult[]> {
    return this.instances.start(sagas, lease, durability);
  }

  async startWithin(transaction: unknown, saga: NewSaga, lease: Lease): Promise<StartResult> {
    const sql = this.sql.database.join(transaction);
    return sendWithin(sql, `Saga '${saga.name}'`, () => this.startOn(transaction, sql, saga, lease));
  }

  private async startOn(transaction: unknown, sql: Sql, saga: NewSaga, lease: Lease): Promise<StartResult> {
    const [result] = await this.instances.within(transaction, sql).start([saga], lease);
    // One that is due later is announced as well: who learns of it learns when.
    if (result!.created && !saga.leased) await this.on.notify(sql, 'due');
    return result!;
  }

  checkpoint(checkpoints: readonly Checkpoint[], durability?: Durability): Promise<CheckpointResult[]> {
    return this.steps.checkpoint(checkpoints, durability);
  }

  transact(work: (transaction: StepTransaction) => Promise<Checkpoint>): Promise<CheckpointResult> {
    return this.steps.transact(work);
  }

  claim(request: ClaimRequest): Promise<Claim> {
    return this.instances.claim(request);
  }

  giveBack(leases: readonly Held[], lease: Lease, delay: number): Promise<void> {
    return this.instances.giveBack(leases, lease, delay);
  }

  renew(leases: readonly HeldLease[], lease: Lease): Promise<RenewResult> {
    return this.instances.renew(leases, lease);
  }

  async reserve(
    { saga, step, key = '', count, per, ahead = 0, holder, unused = [] }: RateRequest,
    attempts: number,
  ): Promise<Reservation> {
    const rate = { saga, step, key, count, per, attempts, ahead, holder: holder ?? null, unused };
    const [row] = await this.on.query<Reservation>(...this.on.texts.reserve(rate));
    return row!;
  }

  load(target: StoreTarget): Promise<StoredSaga | undefined> {
    return this.instances.load(target);
  }

  find(filter: StoreFilter): Promise<StoredSummary[]> {
    return this.instances.search(filter);
  }

  tasks(filter: StoreTaskFilter): Promise<StoredTask[]> {
    return this.steps.tasks(filter);
  }

  edit(
    target: StoreTarget,
    change: (saga: StoredSaga, now: number) => Edit | undefined,
  ): Promise<StoredSaga | undefined> {
    return this.instances.edit(target, change);
  }

  async catchUp(sagas: Parameters<SagaStore['catchUp']>[0]): Promise<void> {
    const [names, versions] = fieldArrays(sagas, 'name', 'version');
    await this.on.query(...this.on.texts.catchUp({ names, versions }));
  }

  async markOverdue(names: readonly string[], limit: number): Promise<OverdueSaga[]> {
    const statement = this.on.texts.markOverdue({ names, limit });
    const rows = await this.on.query<Nullable<OverdueSaga>>(...statement);
    return rows.map((row) => withoutNulls(row));
  }

  async stats(): Promise<StoreStats> {
    const [row] = await this.on.query<Nullable<StoreStats>>(...this.on.texts.stats({}));
    return { ...withoutNulls(row!), timelineGuard: this.sql.watchdog.timeline.state };
  }

  async history(id: string, limit: number): Promise<HistoryRecord[]> {
    const statement = this.on.texts.history({ sagaId: id, limit });
    const rows = await this.on.query<{ entry: Nullable<HistoryRecord> }>(...statement);
    return rows.map(({ entry }) => withoutNulls(entry));
  }

  signal(
    signals: readonly (SentSignal & { readonly target: StoreTarget })[],
    awaited?: AwaitedSignals,
  ): Promise<SignalResult[]> {
    return sendSignals(this.on.query, this.on.texts, signals, awaited);
  }

  async signalWithin(
    transaction: unknown,
    signal: SentSignal & { readonly target: StoreTarget },
    awaited?: AwaitedSignals,
  ): Promise<SignalResult> {
    const sql = this.sql.database.join(transaction);
    const [result] = await sendWithin(sql, `Signal '${signal.name}'`, () =>
      sendSignals(this.on.queryOn(sql), this.on.texts, [signal], awaited),
    );
    return result!;
  }

  pendingSignals(id: string): Promise<readonly StoredSignal[]> {
    return this.on.reader.pendingSignals(id);
  }

  ended(ids: readonly string[]): Promise<StoredSaga[]> {
    return this.on.reader.among(ids, 'ended');
  }

  async watch(ids: readonly string[]): Promise<StoredSaga[]> {
    await this.on.query(...this.on.texts.watch({ ids: [...ids].sort() }));
    return this.on.reader.among(ids, 'settled');
  }

  revisions(ids: readonly string[]): Promise<SagaRevision[]> {
    return this.on.query<SagaRevision>(...this.on.texts.unsaved({ ids }));
  }

  async changes(watched: readonly SeenSaga[]): Promise<SagaChange[]> {
    const [ids, seen] = fieldArrays(watched, 'id', 'seen');
    const statement = this.on.texts.changed({ ids, seen });
    const changed = await this.on.query<{ id: string; seen: string | null }>(...statement);
    if (changed.length === 0) return [];
    const sagas = await this.on.reader.among(
      changed.map(({ id }) => id),
      'present',
    );
    const byId = new Map(sagas.map((saga) => [saga.id, saga]));
    return changed.map(({ id, seen }) => ({ id, seen: seen ?? '', saga: byId.get(id) }));
  }

  async missing(ids: readonly string[]): Promise<string[]> {
    return (await this.on.query<{ id: string }>(...this.on.texts.missing({ ids }))).map(({ id }) => id);
  }

  async schedules(): ReturnType<SagaStore['schedules']> {
    const rows = await this.on.query<ScheduleRow>(...this.on.texts.schedules({}));
    const stored = rows.filter(({ saga }) => saga !== null);
    return { schedules: stored.map((row) => toStoredSchedule(row)), now: rows[0]!.now };
  }

  async editSchedule(saga: string, change: ChangeSchedule): Promise<ScheduleEdited | undefined> {
    const edited = await this.sql.commit('A change of a schedule', (sql) =>
      editSchedule(
        {
          sql: this.on.texts,
          query: this.on.queryOn(sql),
          start: (given) => this.startOn(sql, sql, given, NOBODY),
        },
        saga,
        change,
      ),
    );
    return edited === 'again' ? this.editSchedule(saga, change) : edited;
  }

  isOutage(error: unknown): boolean {
    return isOutage(error);
  }

  isTransient(error: unknown): boolean {
    return isTransientError(error);
  }

  refuses(error: unknown): boolean {
    return refusesData(error);
  }

  get lastFailoverAt(): number {
    return this.sql.watchdog.timeline.lastPromotionAt;
  }
}
