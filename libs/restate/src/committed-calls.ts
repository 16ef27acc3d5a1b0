import {
  type EngineLog,
  type EngineSql,
  type NewSaga,
  type OwnTables,
  SagaUnavailableError,
  type SentSignal,
  type SignalResult,
  type Sql,
  type StartResult,
  type StoreTarget,
  sendWithin,
  type Wakeup,
  wakeupChannel,
} from 'nestjs-durable-saga/internal/backend';
import { correlationKey, keysOfStart } from './contracts.js';
import { inOrder } from './in-order.js';
import { isUnanswered, refusesData } from './restate-errors.js';
import { fromText, toText } from './stored-text.js';

/** A start, or a signal, that is part of a transaction of the application. */
export type CommittedCall = { readonly start: NewSaga } | { readonly signal: SentSignal };

/** Makes the calls. Each may be made again. */
export interface Makes {
  start(saga: NewSaga): Promise<StartResult>;
  signal(id: string, signal: SentSignal): Promise<SignalResult>;
}

interface Row {
  readonly seq: string;
  readonly saga_id: string;
  readonly call: string;
}

/** A start has the place of a message. No signal has this id. */
const START = '';
const BATCH = 100;
/** A hint of a commit may be lost: calls are looked for so often (ms). */
const LOOKS_EVERY = 1_000;

/**
 * Starts and signals of the application's transactions. They are rows of its database, and are made once these have committed,
 * in order, by one process at a time.
 */
export class CommittedCalls {
  private readonly sql: EngineSql;
  private readonly table: string;
  private readonly channel: string;
  private readonly wakeup: Wakeup;
  private timer: NodeJS.Timeout | undefined;
  private making: Promise<void> | undefined;
  private isWanted = false;
  private isStopping = false;

  constructor(
    { sql, schema, wakeup }: OwnTables,
    private readonly makes: Makes,
    private readonly log: EngineLog,
  ) {
    this.sql = sql;
    this.table = `"${schema}".committed_call`;
    this.channel = wakeupChannel(schema);
    this.wakeup = wakeup;
  }

  async start(): Promise<void> {
    this.timer = setInterval(() => this.look(), LOOKS_EVERY);
    this.timer.unref();
    await this.wakeup.start(() => this.look());
  }

  async stop(): Promise<void> {
    clearInterval(this.timer);
    this.isStopping = true;
    await Promise.all([this.wakeup.stop(), this.making]);
  }

  /**
   * Calls `work` with the statements of a transaction.
   * @param what would be lost if it does not commit, as the beginning of a sentence
   * @throws SagaUnavailableError if Restate does not answer: no transaction is kept open for it
   */
  async within<T>(transaction: unknown, what: string, work: (sql: Sql) => Promise<T>): Promise<T> {
    const sql = this.sql.database.join(transaction);
    try {
      return await sendWithin(sql, what, () => work(sql));
    } catch (error) {
      if (!isUnanswered(error)) throw error;
      throw new SagaUnavailableError(
        `${what} is not part of the transaction, because Restate does not answer: ${(error as Error).message}. Roll it back, ` +
          'and try again.',
        { cause: error },
      );
    }
  }

  /** Keeps a call. False: the transaction, or one that has committed, has the same. */
  async keep(sql: Sql, id: string, call: CommittedCall): Promise<boolean> {
    const { start, signal } = call as Partial<{ start: NewSaga; signal: SentSignal }>;
    const correlation =
      start?.correlationId === undefined ? null : correlationKey(start.name, start.correlationId);
    const text =
      `INSERT INTO ${this.table} (saga_id, message_id, correlation, call) VALUES ($1::uuid, $2::text, $3::text, $4::text) ` +
      `ON CONFLICT DO NOTHING RETURNING true AS kept`;
    const values = [id, signal?.messageId ?? START, correlation, toText(call)];
    const rows = await sql.query<unknown[]>(text, values);
    if (rows.length > 0) await sql.query('SELECT pg_notify($1::text, $2::text)', [this.channel, 'due']);
    return rows.length > 0;
  }

  /** Takes a call back that the transaction has kept. */
  async drop(sql: Sql, id: string): Promise<void> {
    const text = `DELETE FROM ${this.table} WHERE saga_id = $1::uuid AND message_id = '' RETURNING true AS dropped`;
    await sql.query(text, [id]);
  }

  /** The saga that is started by a call that is not made yet. */
  async startOf(sql: Sql, target: StoreTarget): Promise<NewSaga | undefined> {
    const text = `SELECT call FROM ${this.table} WHERE ${TO_TARGET} AND message_id = '' LIMIT 1`;
    const [row] = await sql.query<{ readonly call: string }[]>(text, valuesOf(target));
    return row && (fromText(row.call) as { readonly start: NewSaga }).start;
  }

  /** Makes what has committed for a saga, unless that is done: it may have been done since the saga was asked for. */
  async make(target: StoreTarget): Promise<void> {
    const text = `SELECT true AS found FROM ${this.table} WHERE ${TO_TARGET} LIMIT 1`;
    const rows = await this.sql.query<unknown[]>(text, valuesOf(target));
    if (rows.length > 0) while ((await this.batch('wait')) === BATCH);
  }

  /** Deletes what is kept of sagas that are about to be deleted. A call that is being made is waited for. */
  async forget(ids: readonly string[]): Promise<void> {
    await this.sql.query(`DELETE FROM ${this.table} WHERE saga_id = ANY($1::uuid[])`, [ids]);
  }

  /** Makes what has committed, soon. */
  private look(): void {
    this.isWanted = true;
    this.making ??= this.makeAll().finally(() => (this.making = undefined));
  }

  private async makeAll(): Promise<void> {
    while (this.isWanted && !this.isStopping) {
      this.isWanted = false;
      try {
        while ((await this.batch()) === BATCH && !this.isStopping);
      } catch (error) {
        // They stay there, and are looked for again.
        this.log.debug(`Starts and signals of transactions wait: ${(error as Error).message}`);
      }
    }
  }

  /** @param wait for a process that is making calls */
  private async batch(wait?: 'wait'): Promise<number> {
    const lock = wait ? 'pg_advisory_xact_lock' : 'pg_try_advisory_xact_lock';
    return this.sql.transaction(async (sql) => {
      const text = `SELECT ${lock}(hashtextextended($1, 0))::text <> 'false' AS taken`;
      const [{ taken }] = await sql.query<[{ taken: boolean }]>(text, [this.table]);
      if (!taken) return 0;
      const rows = await sql.query<Row[]>(
        `SELECT seq, saga_id, call FROM ${this.table} ORDER BY seq LIMIT ${BATCH} FOR UPDATE`,
      );
      const calls = rows.map((row) => ({ ...row, call: fromText(row.call) as CommittedCall }));
      const made: string[] = [];
      await inOrder(
        calls,
        ({ saga_id: id, call }) => ('start' in call ? keysOfStart(call.start) : [id]),
        async ({ seq, saga_id: id, call }) => {
          if (await this.isMade(id, call)) made.push(seq);
        },
      );
      await sql.query(`DELETE FROM ${this.table} WHERE seq = ANY($1::bigint[])`, [made]);
      return made.length;
    });
  }

  private async isMade(id: string, call: CommittedCall): Promise<boolean> {
    const lost = (why: string) =>
      this.log.error(`Saga ${id}: what a transaction has committed has no effect: ${why}`);
    try {
      if ('start' in call) {
        const result = await this.makes.start(call.start);
        if (!result.created && result.existing && result.existing.id !== id)
          lost(`it is not started, because saga ${result.existing.id} has its correlation id since`);
      } else {
        const { outcome } = await this.makes.signal(id, call.signal);
        if (outcome !== 'kept' && outcome !== 'known') lost(`signal '${call.signal.name}' is ${outcome}`);
      }
      return true;
    } catch (error) {
      if (!refusesData(error)) throw error;
      this.log.error(
        `Saga ${id}: Restate refuses what a transaction has committed: ${(error as Error).message}`,
      );
      return false;
    }
  }
}

const TO_TARGET = '(saga_id::text = $1::text OR correlation = $2::text)';

/** A saga without a correlation id has its own id for one. */
function valuesOf(target: StoreTarget): unknown[] {
  if ('id' in target) return [target.id, null];
  return [target.correlationId, correlationKey(target.name, target.correlationId)];
}
