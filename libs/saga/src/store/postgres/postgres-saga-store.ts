import type { DataSource, EntityManager } from 'typeorm';
import type { Durability } from '../../definition/options/saga-options.js';
import {
  type AwaitedSignals,
  type Claim,
  type ClaimRequest,
  type Edit,
  type HistoryRecord,
  type OverdueSaga,
  type RateLimit,
  type RenewResult,
  type Reservation,
  type SagaStore,
  type SignalResult,
  type StartResult,
  type StoredSummary,
  type StoreFilter,
  type StoreStats,
  type StoreTarget,
} from '../../engine/ports/saga-store.js';
import type { Checkpoint, CheckpointResult } from '../../engine/ports/checkpoint.js';
import type { Lease, NewSaga, SentSignal, StoredSaga, StoredSignal } from '../../engine/ports/stored-saga.js';
import { type StatementWatchdog, watchdogOf } from './connection/statement-watchdog.js';
import { ApplicationSql, type Sql } from './connection/application-sql.js';
import { applyEdit, type EditTransaction } from './edit/apply-edit.js';
import { checkpointCall } from './checkpoint/checkpoint-call.js';
import { SagaClaims } from './claim/claim-sagas.js';
import { findSagas } from './read/find-sagas.js';
import { PreparedCalls, IDLE_TIMEOUT } from './checkpoint/prepared-calls.js';
import { sendSignals } from './signals/postgres-signals.js';
import { relaxedCall } from './checkpoint/relaxed-statement.js';
import { withTimeoutFactor } from './connection/engine-client.js';
import { type Isolation, isolationOf } from './connection/isolation.js';
import { inLockOrder } from './checkpoint/in-lock-order.js';
import { poolOf } from './connection/saga-data-source.js';
import { type PgClient } from './connection/pg-types.js';
import { DEFAULT_SCHEMA } from './schema/saga-entities.js';
import { type Statements, statementsOf } from './statements.js';
import { PAGE_BYTES, type ReadBounds, SagaReader } from './read/saga-reader.js';
import { SagaStarts } from './start/start-sagas.js';
import { type HistoryRow, toHistoryRecord } from './edit/stored-operation.js';
import { toStoredSaga } from './read/stored-saga-row.js';
import { readOnlyFailure } from './connection/read-only-transaction.js';
import { ConnectionReserve } from './connection/connection-reserve.js';
import { committed, sendWithin, TransactionWatch } from './connection/transaction-watch.js';
import { isTransientError } from './connection/transient-errors.js';
import { isUuid } from './connection/uuid.js';
import { wakeupChannel } from './connection/wakeup-channel.js';

/** A search may take this many times as long as other statements. */
const FIND_PATIENCE = 6;

interface SavedRow {
  /** Null: all. One that is null: nothing was done, for the level of the transaction. */
  readonly saved: readonly (string | null)[] | null;
}

interface Held {
  readonly id: string;
  readonly epoch: number;
}

type OverdueRow = Omit<OverdueSaga, 'correlationId' | 'slaAt'> & {
  readonly correlation_id: string | null;
  readonly sla_at: number;
};

type StatsRow = Omit<StoreStats, 'oldestDue' | 'oldestMessage'> & {
  readonly oldest_due: number | null;
  readonly oldest_message: number | null;
};

interface UnsavedRow {
  readonly id: string;
  readonly epoch: number;
  readonly checkpoints: number;
}

/** Sagas in PostgreSQL, over a DataSource made by createSagaDataSource. */
export class PostgresSagaStore implements SagaStore {
  private readonly watchdog: StatementWatchdog;
  private readonly isolation: Isolation;
  private readonly connections: ConnectionReserve;
  private readonly channel: string;
  private readonly sql: Statements;
  private readonly calls: PreparedCalls;
  private readonly starts: SagaStarts;
  private readonly claims: SagaClaims;
  private readonly pageBytes: number;
  private readonly reader: SagaReader;

  constructor(
    private readonly dataSource: DataSource,
    private readonly schema: string = DEFAULT_SCHEMA,
    /** The application's: transactional steps work with its entities. On the same database, over the same pool. */
    private readonly application: DataSource = dataSource,
    { pageBytes = PAGE_BYTES }: ReadBounds = {},
  ) {
    const pool = poolOf(application);
    this.watchdog = watchdogOf(pool);
    this.isolation = isolationOf(pool);
    this.connections = new ConnectionReserve(pool.options.max);
    this.channel = wakeupChannel(schema);
    this.sql = statementsOf(`"${schema}"`);
    this.calls = new PreparedCalls(dataSource, this.watchdog, schema, this.sql);
    this.starts = new SagaStarts(this.calls, this.sql, pageBytes);
    this.pageBytes = pageBytes;
    this.reader = this.readerOn(dataSource);
    this.claims = new SagaClaims(this.queryOn(dataSource), this.sql, this.reader);
  }

  start(sagas: readonly NewSaga[], lease: Lease, durability?: Durability): Promise<StartResult[]> {
    return this.starts.start(this.dataSource, sagas, lease, durability);
  }

  async startWithin(manager: EntityManager, saga: NewSaga, lease: Lease): Promise<StartResult> {
    const sql = new ApplicationSql(manager);
    const [result] = await sendWithin(manager, `Saga '${saga.name}'`, () =>
      this.starts.start(sql, [saga], lease),
    );
    // One that is due later is announced as well: who learns of it learns when.
    if (result!.created && !saga.leased) await this.notify(sql, 'due');
    return result!;
  }

  checkpoint(checkpoints: readonly Checkpoint[], durability?: Durability): Promise<CheckpointResult[]> {
    return this.checkpointAlone(checkpoints, durability);
  }

  transact(work: (manager: EntityManager) => Promise<Checkpoint>): Promise<CheckpointResult> {
    return this.connections.run(() => this.transaction(work));
  }

  claim(request: ClaimRequest): Promise<Claim> {
    return this.claims.claim(request);
  }

  async giveBack(leases: readonly Held[], lease: Lease, delay: number): Promise<void> {
    const ordered = inLockOrder(leases);
    const [ids, epochs] = [ordered.map(({ id }) => id), ordered.map(({ epoch }) => epoch)];
    await this.query(this.dataSource, this.sql.giveBack, [ids, epochs, lease.worker, delay]);
  }

  async renew(leases: readonly Held[], lease: Lease): Promise<RenewResult> {
    const ordered = inLockOrder(leases);
    const rows = await this.query<{
      now: number;
      id: string | null;
      cancel_requested: boolean;
      cancel_reason: string | null;
      pause_requested: boolean;
    }>(this.dataSource, this.sql.renew, [
      ordered.map((l) => l.id),
      ordered.map((l) => l.epoch),
      lease.worker,
      lease.duration,
    ]);
    const kept = new Set(rows.map((row) => row.id));
    return {
      now: rows[0]!.now,
      lost: leases.filter((l) => !kept.has(l.id)).map((l) => l.id),
      cancelled: rows
        .filter((row) => row.id !== null && row.cancel_requested)
        .map((row) => ({ id: row.id!, reason: row.cancel_reason ?? undefined })),
      paused: rows.flatMap(({ id, pause_requested }) => (id !== null && pause_requested ? id : [])),
    };
  }

  async reserve({ saga, step, count, per, ahead = 0 }: RateLimit, attempts: number): Promise<Reservation> {
    const [row] = await this.query<Reservation>(this.dataSource, this.sql.reserve, [
      ...[saga, step, count, per, attempts, ahead],
    ]);
    return row!;
  }

  load(target: StoreTarget): Promise<StoredSaga | undefined> {
    return this.loadOn(this.dataSource, target);
  }

  async find(filter: StoreFilter): Promise<StoredSummary[]> {
    const runner = this.dataSource.createQueryRunner();
    try {
      // Who asks for tags may have many sagas looked at.
      withTimeoutFactor(await runner.connect(), FIND_PATIENCE);
      return await findSagas(runner.manager, filter);
    } finally {
      await runner.release();
    }
  }

  edit(
    target: StoreTarget,
    change: (saga: StoredSaga, now: number) => Edit | undefined,
  ): Promise<StoredSaga | undefined> {
    return committed(this.dataSource.manager, "An operator's change", async (manager) => {
      const idle = this.watchdog.betweenStatements;
      if (idle !== undefined) await this.query(manager, `SELECT ${IDLE_TIMEOUT}`, [String(idle)]);
      const found = await this.loadOn(manager, target);
      if (!found) return undefined;
      const { lock, name } = found;
      if (lock) await this.query(manager, this.sql.lockLine, [[name], [lock.key]]);
      await this.query(manager, this.sql.lock, [found.id]);
      const row = await this.readerOn(manager).byId(found.id);
      if (!row) return undefined;
      const saga = toStoredSaga(row);
      const edit = change(saga, row.now);
      if (!edit) return saga;
      const on: EditTransaction = {
        sql: this.sql,
        query: this.queryOn(manager),
        checkpoint: (checkpoint) => this.checkpointOn(manager, [checkpoint]) as Promise<CheckpointResult[]>,
        notify: (payload) => this.notify(manager, payload),
      };
      await applyEdit(on, saga, edit, row.now);
      return this.loadOn(manager, { id: saga.id });
    });
  }

  async markOverdue(names: readonly string[], limit: number): Promise<OverdueSaga[]> {
    const rows = await this.query<OverdueRow>(this.dataSource, this.sql.markOverdue, [names, limit]);
    return rows.map(({ correlation_id, sla_at, ...row }) => ({
      ...row,
      correlationId: correlation_id ?? undefined,
      slaAt: sla_at,
    }));
  }

  async stats(): Promise<StoreStats> {
    const [row] = await this.query<StatsRow>(this.dataSource, this.sql.stats, []);
    const { oldest_due, oldest_message, ...stats } = row!;
    return {
      ...stats,
      oldestDue: oldest_due ?? undefined,
      oldestMessage: oldest_message ?? undefined,
    };
  }

  async history(id: string, limit: number): Promise<HistoryRecord[]> {
    const rows = await this.query<HistoryRow>(this.dataSource, this.sql.history, [id, limit]);
    return rows.map(({ entry }) => toHistoryRecord(entry));
  }

  signal(
    signals: readonly (SentSignal & { readonly target: StoreTarget })[],
    awaited?: AwaitedSignals,
  ): Promise<SignalResult[]> {
    return sendSignals(this.queryOn(this.dataSource), this.sql, signals, awaited);
  }

  pendingSignals(id: string): Promise<readonly StoredSignal[]> {
    return this.reader.pendingSignals(id);
  }

  ended(ids: readonly string[]): Promise<StoredSaga[]> {
    return this.reader.among(ids, 'ended');
  }

  async watch(ids: readonly string[]): Promise<StoredSaga[]> {
    await this.query(this.dataSource, this.sql.watch, [[...ids].sort()]);
    return this.reader.among(ids, 'settled');
  }

  async missing(ids: readonly string[]): Promise<string[]> {
    return (await this.query<{ id: string }>(this.dataSource, this.sql.missing, [ids])).map(({ id }) => id);
  }

  isTransient(error: unknown): boolean {
    return isTransientError(error);
  }

  private async transaction(
    work: (manager: EntityManager) => Promise<Checkpoint>,
  ): Promise<CheckpointResult> {
    const runner = this.application.createQueryRunner();
    const client = (await this.watchdog.connected(runner.connect())) as PgClient;
    // What the method sends is the application's, and takes as long as it takes; the rest is not.
    const answered = <T>(answer: Promise<T>) => this.watchdog.watch(client, answer);
    let inLine: Checkpoint | undefined;
    try {
      const watch = TransactionWatch.on(client);
      await answered(runner.startTransaction());
      const checkpoint = await work(runner.manager);
      const what = 'The work of the method through ctx.manager';
      await watch.requireOpen(what, runner.manager);
      // From here on the saga's row is locked, and nothing but our own COMMIT is to come.
      const { result, isInLine } = await answered(this.checkpointWithin(runner.manager, checkpoint));
      if (result === 'saved') await answered(runner.commitTransaction());
      else await answered(runner.rollbackTransaction()).catch(() => undefined);
      if (result === 'saved') watch.requireCommitted(what);
      if (result === 'saved' && isInLine) inLine = checkpoint;
      return result;
    } catch (error) {
      await answered(runner.rollbackTransaction()).catch(() => undefined);
      throw await readOnlyFailure(error, (text) => answered(new ApplicationSql(runner.manager).query(text)));
    } finally {
      await runner.release();
      // If this fails, the worker that claims the saga does it.
      if (inLine) await this.claims.leaveLine(inLine).catch(() => undefined);
    }
  }

  /**
   * The checkpoint of a step's transaction, which may be at any level. At one where the saga's lock cannot be handed on,
   * the saga stays in its line, and is due: see lock-line.function.ts.
   */
  private async checkpointWithin(
    manager: EntityManager,
    checkpoint: Checkpoint,
  ): Promise<{ result: CheckpointResult; isInLine: boolean }> {
    const sql = new ApplicationSql(manager);
    const idleTimeout = this.watchdog.betweenStatements;
    const [result] = await this.checkpointOn(sql, [checkpoint], { idleTimeout });
    if (result !== 'raised') return { result: result!, isInLine: false };
    const [stored] = await this.checkpointOn(sql, [{ ...checkpoint, lock: undefined }], { idleTimeout });
    if (stored === 'saved') {
      await this.query(sql, this.sql.stayInLine, [checkpoint.id]);
      await this.notify(sql, 'due');
    }
    return { result: stored as CheckpointResult, isInLine: true };
  }

  private async checkpointAlone(
    checkpoints: readonly Checkpoint[],
    durability: Durability | undefined,
  ): Promise<CheckpointResult[]> {
    const results = await this.checkpointOn(this.dataSource, checkpoints, { durability });
    if (results[0] !== 'raised') return results as CheckpointResult[];
    // The default level is another one since.
    this.isolation.isRaised = true;
    return this.checkpointAlone(checkpoints, durability);
  }

  private async checkpointOn(
    sql: Sql,
    checkpoints: readonly Checkpoint[],
    { idleTimeout, durability }: { idleTimeout?: number; durability?: Durability } = {},
  ): Promise<(CheckpointResult | 'raised')[]> {
    const fresh = checkpoints.every((checkpoint) => checkpoint.fresh);
    const call = (isFresh: boolean) =>
      relaxedCall(checkpointCall(checkpoints, isFresh), checkpoints, durability, {
        schema: this.schema,
        sql: this.sql,
      });
    const [row] = await this.calls.insertOrUpsert<SavedRow>(sql, fresh, call, idleTimeout);
    if (row!.saved === null) return checkpoints.map(() => 'saved');
    if (row!.saved[0] === null) return ['raised'];
    const saved = new Set(row!.saved);
    if (saved.size === checkpoints.length) return checkpoints.map(() => 'saved');
    const unsaved = checkpoints.filter((c) => !saved.has(c.id)).map((c) => c.id);
    const found = await this.query<UnsavedRow>(sql, this.sql.unsaved, [unsaved]);
    const rows = new Map(found.map((row) => [row.id, row]));
    return checkpoints.map((c) => {
      if (saved.has(c.id)) return 'saved';
      const row = rows.get(c.id);
      if (row?.epoch !== c.epoch) return 'fenced';
      return row.checkpoints >= c.number ? 'saved' : 'cancelled';
    });
  }

  private async loadOn(sql: Sql, target: StoreTarget): Promise<StoredSaga | undefined> {
    let id: string | undefined;
    if ('id' in target) {
      id = target.id;
    } else {
      const { name, correlationId } = target;
      const asId = isUuid(correlationId) ? correlationId : null;
      const [row] = await this.query<{ id: string }>(sql, this.sql.idByCorrelation, [
        name,
        correlationId,
        asId,
      ]);
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
    return new SagaReader(this.queryOn(sql), this.sql, this.pageBytes);
  }

  private queryOn(sql: Sql) {
    return <Row>(text: string, parameters: unknown[]) => this.query<Row>(sql, text, parameters);
  }

  /** TypeORM gives the rows of statements that return some, and [rows, count] of bare updates. */
  private async query<Row>(sql: Sql, text: string, parameters: unknown[]): Promise<Row[]> {
    return sql.query(text, parameters);
  }
}
