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
import { applyEdit, type EditTransaction } from './edit/apply-edit.js';
import { editSchedule, type ScheduleRow, toStoredSchedule } from './edit/edit-schedule.js';
import { SagaClaims } from './claim/claim-sagas.js';
import { renewLeases } from './claim/renew-leases.js';
import { StepSlots } from './claim/step-slots.js';
import { type Nullable, withoutNulls } from './read/without-nulls.js';
import { findTasks } from './read/find-tasks.js';
import { findSagas } from './read/find-sagas.js';
import { PreparedCalls, IDLE_TIMEOUT } from './checkpoint/prepared-calls.js';
import { sendSignals } from './signals/postgres-signals.js';
import { PostgresPauses } from './pauses/postgres-pauses.js';
import { CheckpointCalls } from './checkpoint/checkpoint-call.js';
import { SagaCheckpoints } from './checkpoint/save-checkpoints.js';
import { StepTransactions } from './checkpoint/step-transactions.js';
import { setting } from './checkpoint/select.js';
import { fieldArrays } from './checkpoint/column-values.js';
import { inLockOrder } from './checkpoint/in-lock-order.js';
import { DEFAULT_SCHEMA } from './schema/saga-entities.js';
import { type Statements, statementsOf } from './sql-texts.js';
import { type Writes, writesOf } from './statements.js';
import { PAGE_BYTES, type ReadBounds, SagaReader } from './read/saga-reader.js';
import { SagaStarts } from './start/start-sagas.js';
import { toStoredSaga } from './read/stored-saga-row.js';
import { sendWithin } from './connection/transaction-watch.js';
import { isOutage, isTransientError, refusesData } from './connection/transient-errors.js';
import { isUuid } from '../../engine/payload/storable-key.js';
import { wakeupChannel } from './connection/schema-name.js';

/** A search may take this many times as long as other statements. */
const FIND_PATIENCE = 6;

/** Takes no lease. */
const NOBODY: Lease = { worker: '', duration: 0 };

interface Held {
  readonly id: string;
  readonly epoch: number;
}

/** Sagas in PostgreSQL. */
export class PostgresSagaStore implements SagaStore {
  private readonly channel: string;
  private readonly statements: Statements;
  readonly writes: Writes;
  private readonly calls: PreparedCalls;
  private readonly starts: SagaStarts;
  private readonly checkpoints: SagaCheckpoints;
  private readonly transactions: StepTransactions;
  private readonly claims: SagaClaims;
  readonly stepSlots: StepSlots;
  private readonly pageBytes: number;
  private readonly reader: SagaReader;
  readonly pauses: PostgresPauses;

  constructor(
    private readonly sql: EngineSql,
    readonly schema: string = DEFAULT_SCHEMA,
    { pageBytes = PAGE_BYTES }: ReadBounds = {},
  ) {
    this.channel = wakeupChannel(schema);
    this.statements = statementsOf(schema);
    this.writes = writesOf(`"${schema}"`);
    this.calls = new PreparedCalls(sql, schema, this.writes);
    this.starts = new SagaStarts(this.calls, this.statements, pageBytes);
    this.pageBytes = pageBytes;
    this.reader = this.readerOn(sql);
    const query = this.queryOn(sql);
    this.pauses = new PostgresPauses(query, this.statements, this.channel);
    this.stepSlots = new StepSlots(query, this.statements);
    this.claims = new SagaClaims(query, this.statements, this.reader);
    const checkpointCalls = new CheckpointCalls(`"${schema}"`, this.writes);
    this.checkpoints = new SagaCheckpoints(sql, this.calls, this.statements, checkpointCalls);
    this.transactions = new StepTransactions(sql, this.checkpoints, this.statements, {
      schema,
      notify: (on) => this.notify(on, 'due'),
      dequeue: (checkpoint) => this.claims.dequeue(checkpoint),
      checkpointNothing: () => this.calls.prepare(),
    });
  }

  prepare(): Promise<void> {
    return this.calls.prepare();
  }

  start(sagas: readonly NewSaga[], lease: Lease, durability?: Durability): Promise<StartResult[]> {
    return this.starts.start(this.sql, sagas, lease, durability);
  }

  async startWithin(transaction: unknown, saga: NewSaga, lease: Lease): Promise<StartResult> {
    const sql = this.sql.database.join(transaction);
    return sendWithin(sql, `Saga '${saga.name}'`, () => this.startOn(sql, saga, lease));
  }

  private async startOn(sql: Sql, saga: NewSaga, lease: Lease): Promise<StartResult> {
    const [result] = await this.starts.start(sql, [saga], lease);
    // One that is due later is announced as well: who learns of it learns when.
    if (result!.created && !saga.leased) await this.notify(sql, 'due');
    return result!;
  }

  checkpoint(checkpoints: readonly Checkpoint[], durability?: Durability): Promise<CheckpointResult[]> {
    return this.checkpoints.save(checkpoints, durability);
  }

  transact(work: (transaction: StepTransaction) => Promise<Checkpoint>): Promise<CheckpointResult> {
    return this.transactions.run(work);
  }

  claim(request: ClaimRequest): Promise<Claim> {
    return this.claims.claim(request);
  }

  async giveBack(leases: readonly Held[], lease: Lease, delay: number): Promise<void> {
    const [ids, epochs] = fieldArrays(inLockOrder(leases), 'id', 'epoch');
    await this.query(this.sql, ...this.statements.giveBack({ ids, epochs, worker: lease.worker, delay }));
  }

  renew(leases: readonly HeldLease[], lease: Lease): Promise<RenewResult> {
    return renewLeases(this.queryOn(this.sql), this.statements, leases, lease);
  }

  async reserve(
    { saga, step, key = '', count, per, ahead = 0, holder }: RateRequest,
    attempts: number,
  ): Promise<Reservation> {
    const rate = { saga, step, key, count, per, attempts, ahead, holder: holder ?? null };
    const [row] = await this.query<Reservation>(this.sql, ...this.statements.reserve(rate));
    return row!;
  }

  load(target: StoreTarget): Promise<StoredSaga | undefined> {
    return this.loadOn(this.sql, target);
  }

  find(filter: StoreFilter): Promise<StoredSummary[]> {
    return this.searching((sql) => findSagas(sql, this.schema, filter));
  }

  tasks(filter: StoreTaskFilter): Promise<StoredTask[]> {
    return this.searching((sql) => findTasks(sql, this.schema, filter));
  }

  private async searching<T>(search: (sql: Sql) => Promise<T>): Promise<T> {
    const connection = await this.sql.connect();
    try {
      // Who asks for tags may have many sagas looked at.
      connection.timeoutFactor = FIND_PATIENCE;
      return await search(connection);
    } finally {
      connection.release();
    }
  }

  edit(
    target: StoreTarget,
    change: (saga: StoredSaga, now: number) => Edit | undefined,
  ): Promise<StoredSaga | undefined> {
    return this.sql.commit("An operator's change", async (sql) => {
      const idle = this.sql.watchdog.betweenStatements;
      if (idle !== undefined) await this.query(sql, `SELECT ${setting(IDLE_TIMEOUT, '$1')}`, [String(idle)]);
      const found = await this.loadOn(sql, target);
      if (!found) return undefined;
      const { lock, name } = found;
      if (lock) await this.query(sql, ...this.statements.lockQueues({ names: [name], keys: [lock.key] }));
      await this.query(sql, ...this.statements.lock({ id: found.id }));
      const row = await this.readerOn(sql).byId(found.id);
      if (!row) return undefined;
      const saga = toStoredSaga(row);
      const edit = change(saga, row.now);
      if (!edit) return saga;
      const on: EditTransaction = {
        sql: this.statements,
        query: this.queryOn(sql),
        checkpoint: (checkpoint) => this.checkpoints.saveOn(sql, [checkpoint]) as Promise<CheckpointResult[]>,
        notify: (payload) => this.notify(sql, payload),
      };
      await applyEdit(on, saga, edit, row.now);
      return this.loadOn(sql, { id: saga.id });
    });
  }

  async catchUp(sagas: Parameters<SagaStore['catchUp']>[0]): Promise<void> {
    const [names, versions] = fieldArrays(sagas, 'name', 'version');
    await this.query(this.sql, ...this.statements.catchUp({ names, versions }));
  }

  async markOverdue(names: readonly string[], limit: number): Promise<OverdueSaga[]> {
    const statement = this.statements.markOverdue({ names, limit });
    const rows = await this.query<Nullable<OverdueSaga>>(this.sql, ...statement);
    return rows.map((row) => withoutNulls(row));
  }

  async stats(): Promise<StoreStats> {
    const [row] = await this.query<Nullable<StoreStats>>(this.sql, ...this.statements.stats({}));
    return { ...withoutNulls(row!), timelineGuard: this.sql.watchdog.timeline.state };
  }

  async history(id: string, limit: number): Promise<HistoryRecord[]> {
    const statement = this.statements.history({ sagaId: id, limit });
    const rows = await this.query<{ entry: Nullable<HistoryRecord> }>(this.sql, ...statement);
    return rows.map(({ entry }) => withoutNulls(entry));
  }

  signal(
    signals: readonly (SentSignal & { readonly target: StoreTarget })[],
    awaited?: AwaitedSignals,
  ): Promise<SignalResult[]> {
    return sendSignals(this.queryOn(this.sql), this.statements, signals, awaited);
  }

  async signalWithin(
    transaction: unknown,
    signal: SentSignal & { readonly target: StoreTarget },
    awaited?: AwaitedSignals,
  ): Promise<SignalResult> {
    const sql = this.sql.database.join(transaction);
    const [result] = await sendWithin(sql, `Signal '${signal.name}'`, () =>
      sendSignals(this.queryOn(sql), this.statements, [signal], awaited),
    );
    return result!;
  }

  pendingSignals(id: string): Promise<readonly StoredSignal[]> {
    return this.reader.pendingSignals(id);
  }

  ended(ids: readonly string[]): Promise<StoredSaga[]> {
    return this.reader.among(ids, 'ended');
  }

  async watch(ids: readonly string[]): Promise<StoredSaga[]> {
    await this.query(this.sql, ...this.statements.watch({ ids: [...ids].sort() }));
    return this.reader.among(ids, 'settled');
  }

  revisions(ids: readonly string[]): Promise<SagaRevision[]> {
    return this.query<SagaRevision>(this.sql, ...this.statements.unsaved({ ids }));
  }

  async changes(watched: readonly SeenSaga[]): Promise<SagaChange[]> {
    const [ids, seen] = fieldArrays(watched, 'id', 'seen');
    const statement = this.statements.changed({ ids, seen });
    const changed = await this.query<{ id: string; seen: string | null }>(this.sql, ...statement);
    if (changed.length === 0) return [];
    const sagas = await this.reader.among(
      changed.map(({ id }) => id),
      'present',
    );
    const byId = new Map(sagas.map((saga) => [saga.id, saga]));
    return changed.map(({ id, seen }) => ({ id, seen: seen ?? '', saga: byId.get(id) }));
  }

  async missing(ids: readonly string[]): Promise<string[]> {
    return (await this.query<{ id: string }>(this.sql, ...this.statements.missing({ ids }))).map(
      ({ id }) => id,
    );
  }

  async schedules(): ReturnType<SagaStore['schedules']> {
    const rows = await this.query<ScheduleRow>(this.sql, ...this.statements.schedules({}));
    const stored = rows.filter(({ saga }) => saga !== null);
    return { schedules: stored.map((row) => toStoredSchedule(row)), now: rows[0]!.now };
  }

  async editSchedule(saga: string, change: ChangeSchedule): Promise<ScheduleEdited | undefined> {
    const edited = await this.sql.commit('A change of a schedule', (sql) =>
      editSchedule(
        {
          sql: this.statements,
          query: this.queryOn(sql),
          start: (given) => this.startOn(sql, given, NOBODY),
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

  private async loadOn(sql: Sql, target: StoreTarget): Promise<StoredSaga | undefined> {
    let id: string | undefined;
    if ('id' in target) {
      id = target.id;
    } else {
      const { name, correlationId } = target;
      const asId = isUuid(correlationId) ? correlationId : null;
      const statement = this.statements.idByCorrelation({ name, correlationId, id: asId });
      const [row] = await this.query<{ id: string }>(sql, ...statement);
      id = row?.id;
    }
    if (id === undefined || !isUuid(id)) return undefined;
    const row = await this.readerOn(sql).byId(id);
    return row && toStoredSaga(row);
  }

  private async notify(sql: Sql, payload: string): Promise<void> {
    await this.query(sql, 'SELECT pg_notify($1, $2)', [this.channel, payload]);
  }

  private readerOn(sql: Sql): SagaReader {
    return new SagaReader(this.queryOn(sql), this.statements, this.pageBytes);
  }

  private queryOn(sql: Sql) {
    return <Row>(text: string, parameters: unknown[]) => this.query<Row>(sql, text, parameters);
  }

  private async query<Row>(sql: Sql, text: string, parameters: unknown[]): Promise<Row[]> {
    return sql.query(text, parameters);
  }
}
