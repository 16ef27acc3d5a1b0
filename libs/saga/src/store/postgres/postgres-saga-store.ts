import type { DataSource, EntityManager } from 'typeorm';
import {
  type Checkpoint,
  type CheckpointResult,
  type Claim,
  type ClaimRequest,
  type Edit,
  type HistoryRecord,
  type Lease,
  type NewSaga,
  type OverdueSaga,
  type RateLimit,
  type RenewResult,
  type Reservation,
  type SagaStore,
  type SentSignal,
  type SignalResult,
  type StartResult,
  type StoredSaga,
  type StoredSignal,
  type StoredSummary,
  type StoreFilter,
  type StoreStats,
  type StoreTarget,
} from '../../engine/saga-store.js';
import { type Answers, answersOf } from './answers.js';
import { applyEdit, type EditTransaction } from './apply-edit.js';
import { checkpointCall } from './checkpoint-call.js';
import { SagaClaims } from './claim-sagas.js';
import { findSagas } from './find-sagas.js';
import { sendSignals, unheardOf } from './postgres-signals.js';
import { inLockOrder } from './in-lock-order.js';
import { beMorePatient, type PgClient, poolOf } from './saga-data-source.js';
import { DEFAULT_SCHEMA } from './saga-entities.js';
import { type Statements, statementsOf } from './statements.js';
import { startOneParameters, startParameters, takesLease } from './start-parameters.js';
import { type HistoryRow, toHistoryRecord } from './stored-operation.js';
import { type StoredSagaRow, toStoredSaga } from './stored-saga-row.js';
import { TransactionPlaces } from './transaction-places.js';
import { isTransientError } from './transient-errors.js';
import { isUuid } from './uuid.js';
import { wakeupChannel } from './wakeup-channel.js';

/** For the rest of the transaction; see Answers. */
const IDLE_TIMEOUT = `set_config('idle_in_transaction_session_timeout', $1, true)`;
/** A search may take this many times as long as other statements. */
const FIND_PATIENCE = 6;

/** Whatever runs SQL: the DataSource (each statement its own transaction) or a transaction's manager. */
type Sql = Pick<EntityManager, 'query'>;

type HotStatement = 'start' | 'startOne' | 'checkpoint' | 'checkpointOne';

interface Held {
  readonly id: string;
  readonly epoch: number;
}

interface StartedRow {
  readonly id: string;
  readonly now: number;
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
  private readonly answers: Answers;
  private readonly places: TransactionPlaces;
  private prepares = true;
  private readonly channel: string;
  private readonly sql: Statements;
  private readonly claims: SagaClaims;

  constructor(
    private readonly dataSource: DataSource,
    private readonly schema: string = DEFAULT_SCHEMA,
    /** The application's: transactional steps work with its entities. On the same database, over the same pool. */
    private readonly application: DataSource = dataSource,
  ) {
    const pool = poolOf(application);
    this.answers = answersOf(pool);
    this.places = new TransactionPlaces(pool.options.max);
    this.channel = wakeupChannel(schema);
    this.sql = statementsOf(`"${schema}"`);
    this.claims = new SagaClaims(this.queryOn(dataSource), this.sql);
  }

  start(sagas: readonly NewSaga[], lease: Lease): Promise<StartResult[]> {
    return this.startOn(this.dataSource, sagas, lease);
  }

  async startWithin(manager: EntityManager, saga: NewSaga, lease: Lease): Promise<StartResult> {
    const [result] = await this.startOn(manager, [saga], lease);
    // One that is due later is announced as well: who hears of it learns when.
    if (result!.created && !saga.leased) await this.notify(manager, 'due');
    return result!;
  }

  async checkpoint(checkpoints: readonly Checkpoint[]): Promise<CheckpointResult[]> {
    return this.checkpointOn(this.dataSource, checkpoints);
  }

  transact(work: (manager: EntityManager) => Promise<Checkpoint>): Promise<CheckpointResult> {
    return this.places.within(() => this.transaction(work));
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
      beMorePatient(await runner.connect(), FIND_PATIENCE);
      return await findSagas(runner.manager, filter);
    } finally {
      await runner.release();
    }
  }

  edit(
    target: StoreTarget,
    change: (saga: StoredSaga, now: number) => Edit | undefined,
  ): Promise<StoredSaga | undefined> {
    return this.dataSource.transaction(async (manager) => {
      const idle = this.answers.betweenStatements;
      if (idle !== undefined) await this.query(manager, `SELECT ${IDLE_TIMEOUT}`, [String(idle)]);
      const found = await this.loadOn(manager, target);
      if (!found) return undefined;
      const { lock, name } = found;
      if (lock) await this.query(manager, this.sql.lockLine, [[name], [lock.key]]);
      await this.query(manager, this.sql.lock, [found.id]);
      const [row] = await this.query<StoredSagaRow & { now: number }>(manager, this.sql.loadById, [found.id]);
      if (!row) return undefined;
      const saga = toStoredSaga(row);
      const edit = change(saga, row.now);
      if (!edit) return saga;
      const on: EditTransaction = {
        sql: this.sql,
        query: this.queryOn(manager),
        checkpoint: (checkpoint) => this.checkpointOn(manager, [checkpoint]),
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

  signal(signals: readonly (SentSignal & { readonly target: StoreTarget })[]): Promise<SignalResult[]> {
    return sendSignals(this.queryOn(this.dataSource), this.sql, signals);
  }

  unheard(id: string): Promise<readonly StoredSignal[]> {
    return unheardOf(this.queryOn(this.dataSource), this.sql, id);
  }

  async ended(ids: readonly string[]): Promise<StoredSaga[]> {
    return (await this.query<StoredSagaRow>(this.dataSource, this.sql.ended, [ids])).map(toStoredSaga);
  }

  async watch(ids: readonly string[]): Promise<StoredSaga[]> {
    await this.query(this.dataSource, this.sql.watch, [[...ids].sort()]);
    return (await this.query<StoredSagaRow>(this.dataSource, this.sql.settled, [ids])).map(toStoredSaga);
  }

  isTransient(error: unknown): boolean {
    return isTransientError(error);
  }

  private async transaction(
    work: (manager: EntityManager) => Promise<Checkpoint>,
  ): Promise<CheckpointResult> {
    const runner = this.application.createQueryRunner();
    const client = (await this.answers.connected(runner.connect())) as PgClient;
    // What the method sends is the application's, and takes as long as it takes; the rest is not.
    const answered = <T>(answer: Promise<T>) => this.answers.of(client, answer);
    try {
      await answered(runner.startTransaction());
      const checkpoint = await work(runner.manager);
      // From here on the saga's row is locked, and nothing but our own COMMIT is to come.
      const idle = this.answers.betweenStatements;
      const [result] = await answered(this.checkpointOn(runner.manager, [checkpoint], idle));
      if (result === 'saved') await answered(runner.commitTransaction());
      else await answered(runner.rollbackTransaction()).catch(() => undefined);
      return result!;
    } catch (error) {
      await answered(runner.rollbackTransaction()).catch(() => undefined);
      throw error;
    } finally {
      await runner.release();
    }
  }

  private async startOn(sql: Sql, sagas: readonly NewSaga[], lease: Lease): Promise<StartResult[]> {
    if (sagas.length === 0) return [];
    const arrivals = firstOfEachKey(sagas);
    const sorted = [...arrivals].sort(compareKeys);
    const one = startOneParameters(sorted);
    const created = await (one
      ? this.hot<StartedRow>(sql, 'startOne', [lease.worker, lease.duration, ...one])
      : this.hot<StartedRow>(sql, 'start', [
          lease.worker,
          lease.duration,
          ...startParameters(sorted, arrivals),
        ]));
    const times = new Map(created.map((row) => [row.id, row.now]));
    const results: (StartResult | undefined)[] = sagas.map((saga) => {
      const now = times.get(saga.id);
      // Of two with one id the first was sent; the second conflicts like any other.
      return now !== undefined && times.delete(saga.id)
        ? { created: true, leased: takesLease(saga), now }
        : undefined;
    });
    return created.length === sagas.length
      ? (results as StartResult[])
      : this.withExisting(sql, sagas, results, lease);
  }

  private async withExisting(
    sql: Sql,
    sagas: readonly NewSaga[],
    results: (StartResult | undefined)[],
    lease: Lease,
  ): Promise<StartResult[]> {
    const missing = [...sagas.keys()].filter((n) => results[n] === undefined);
    const existing = await this.query<{
      n: number;
      id: string;
      name: string;
      correlation_id: string | null;
      input: string | null;
      locked_by: string | null;
      epoch: number;
      now: number;
    }>(sql, this.sql.existing, [
      missing,
      missing.map((n) => sagas[n]!.id),
      missing.map((n) => sagas[n]!.name),
      missing.map((n) => sagas[n]!.correlationId ?? null),
    ]);
    for (const { n, id, name, correlation_id, input, locked_by, epoch, now } of existing) {
      const saga = sagas[n]!;
      if (saga.fresh && saga.id === id) {
        // An earlier try of this very call arrived, and its acknowledgement did not.
        results[n] = {
          created: true,
          leased: takesLease(saga) && locked_by === lease.worker && epoch === 1,
          now,
        };
        continue;
      }
      results[n] = {
        created: false,
        existing: { id, name, correlationId: correlation_id ?? undefined, input: input ?? undefined },
      };
    }
    // What was in the way may have been deleted since; then there is room now.
    const gone = missing.filter((n) => results[n] === undefined);
    if (gone.length > 0) {
      const again = await this.startOn(
        sql,
        gone.map((n) => sagas[n]!),
        lease,
      );
      gone.forEach((n, index) => (results[n] = again[index]));
    }
    return results as StartResult[];
  }

  private async checkpointOn(
    sql: Sql,
    checkpoints: readonly Checkpoint[],
    idleTimeout?: number,
  ): Promise<CheckpointResult[]> {
    const { statement, parameters } = checkpointCall(checkpoints);
    const isHot = statement === 'checkpoint' || statement === 'checkpointOne';
    const [row] = await (!isHot || idleTimeout !== undefined
      ? this.query<{ saved: string[] }>(sql, withIdleTimeout(this.sql[statement], idleTimeout), parameters)
      : this.hot<{ saved: string[] }>(sql, statement, parameters));
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
    const [row] = await this.query<StoredSagaRow>(sql, this.sql.loadById, [id]);
    return row && toStoredSaga(row);
  }

  private async notify(sql: Sql, payload: string): Promise<void> {
    await this.query(sql, 'SELECT pg_notify($1, $2)', [this.channel, payload]);
  }

  /**
   * The hot path goes to the application's pool directly, as a prepared statement: on an idle server a fifth of the
   * time of such a call was spent on parsing it. Behind a pooler that does not know of prepared statements it is
   * sent plainly.
   */
  private async hot<Row>(sql: Sql, name: HotStatement, parameters: unknown[]): Promise<Row[]> {
    const text = this.sql[name];
    if (sql !== this.dataSource || !this.prepares) return this.query(sql, text, parameters);
    this.dataSource.logger.logQuery(text, parameters);
    try {
      const { rows } = await this.answers.send<Row>({
        name: `${this.schema}.${name}`, // 63 characters at most, as PostgreSQL keeps them
        text,
        values: parameters,
      });
      return rows;
    } catch (error) {
      if (!isUnprepared(error)) throw error;
      this.prepares = false;
      return this.query(sql, text, parameters);
    }
  }

  private queryOn(sql: Sql) {
    return <Row>(text: string, parameters: unknown[]) => this.query<Row>(sql, text, parameters);
  }

  /** TypeORM gives the rows of statements that return some, and [rows, count] of bare updates. */
  private async query<Row>(sql: Sql, text: string, parameters: unknown[]): Promise<Row[]> {
    return sql.query(text, parameters);
  }
}

/** Prepared statements are kept by the connection that a transaction-mode pooler gave to someone else since. */
function isUnprepared(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return code === '26000' || code === '42P05';
}

/** In the same round trip; a number, so it can be written out. */
function withIdleTimeout(select: string, timeout: number | undefined): string {
  if (timeout === undefined) return select;
  return select.replace('SELECT', `SELECT ${IDLE_TIMEOUT.replace('$1', `'${timeout}'`)},`);
}

function compareKeys(a: NewSaga, b: NewSaga): number {
  const [x, y] = [correlationKey(a), correlationKey(b)];
  return x < y ? -1 : x > y ? 1 : 0;
}

function correlationKey({ correlationId, name, id }: NewSaga): string {
  return correlationId === undefined ? `\0${id}` : `${correlationId}\0${name}`;
}

/** Of several with one id or correlation id the first is stored; the others find it there. */
function firstOfEachKey(sagas: readonly NewSaga[]): NewSaga[] {
  const seen = new Set<string>();
  return sagas.filter((saga) => {
    const before = seen.size;
    seen.add(saga.id).add(correlationKey(saga));
    return seen.size === before + 2;
  });
}
