import type { OutgoingMessage } from '../../../engine/payload/outgoing-message.js';
import { fieldArrays } from '../checkpoint/column-values.js';
import type { JoinedTransaction } from '../connection/saga-database.js';
import type { Sql } from '../connection/sql.js';
import { sendWithin } from '../connection/transaction-watch.js';
import { isOutage, isTransientError } from '../connection/transient-errors.js';

/** A message to be sent, as a relay was given it. */
export interface TakenMessage {
  readonly id: string;
  readonly lane: number;
  readonly topic: string;
  readonly key: string;
  readonly type: string;
  /** JSON text. */
  readonly payload: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The attempts that failed. */
  readonly attempts: number;
}

/** Lanes that are a relay's for now. */
export interface TakenLanes {
  readonly lanes: readonly { readonly lane: number; readonly epoch: string }[];
  /** In the order in which those of a key are to be sent. */
  readonly messages: readonly TakenMessage[];
  /** Something was found, if only messages that wait behind others: there may be more. */
  readonly found: boolean;
}

/** What became of what was taken. */
export interface Settlement {
  readonly sent: readonly string[];
  readonly failed: readonly FailedMessage[];
  /** Not sent, since one before them with their key was not. */
  readonly behind: readonly string[];
  /** Lanes of which something was left as it was. */
  readonly unfinished: ReadonlySet<number>;
}

export interface FailedMessage {
  readonly id: string;
  readonly error: string;
  readonly attempts: number;
  /** Milliseconds; undefined: never, it is dead. */
  readonly retryIn?: number;
}

/** A message that failed permanently. */
export interface StoredDeadMessage extends Omit<TakenMessage, 'lane'> {
  readonly error: string;
  readonly createdAt: Date;
  readonly deadAt: Date;
  /** The time of `deadAt`, as exact as it is stored. */
  readonly deadAtText: string;
  /** Some of the messages that were asked for come after it. */
  readonly more?: boolean;
}

/** What a turn takes at most. */
export interface PageLimits {
  readonly messages: number;
  readonly lanes: number;
  /** The maximum bytes of payloads and headers; one message may have more. Default: 8 MiB. */
  readonly bytes?: number;
}

/**
 * Messages of one topic and key are in one lane, and a lane is sent by one relay at a time, in order. A power of two;
 * many more than there will be relays, so that the work divides well, and few enough to look through at each turn.
 */
export const LANES = 64;
/** Payloads and headers that are read at once. */
export const OUTBOX_PAGE_BYTES = 2 ** 23;

interface TakenRow extends Omit<TakenMessage, 'payload'> {
  readonly epoch: string;
  readonly payload: string | null;
  readonly behind: boolean;
}

interface DeadRow extends Omit<StoredDeadMessage, 'createdAt' | 'deadAt'> {
  readonly createdAt: number;
  readonly deadAt: number;
}

/** The statements of the outbox. messaging/relay.sql describes what they do. */
export class PostgresOutbox {
  private readonly s: string;

  constructor(
    private readonly sql: Sql,
    schema: string,
  ) {
    this.s = `"${schema}"`;
  }

  isOutage(error: unknown): boolean {
    return isOutage(error);
  }

  isTransient(error: unknown): boolean {
    return isTransientError(error);
  }

  /** In the caller's transaction, in this order. */
  async publish(
    transaction: JoinedTransaction,
    messages: readonly (OutgoingMessage & { id: string })[],
  ): Promise<void> {
    const [first] = messages;
    if (!first) return;
    await sendWithin(transaction, `The message to '${first.topic}'`, () =>
      transaction.query(...this.publishing(messages)),
    );
  }

  /** In a transaction of its own. */
  async publishAlone(message: OutgoingMessage & { id: string }): Promise<void> {
    await this.sql.query(...this.publishing([message]));
  }

  private publishing(messages: readonly (OutgoingMessage & { id: string })[]): [string, unknown[]] {
    return [
      `SELECT ${this.s}.publish($1::uuid[], $2::text[], $3::text[], $4::text[], $5::json[], $6::jsonb[])`,
      [
        ...fieldArrays(messages, 'id', 'topic', 'key', 'type', 'payload'),
        messages.map(({ headers }) => JSON.stringify(headers)),
      ],
    ];
  }

  async take(relay: string, lease: number, most: PageLimits): Promise<TakenLanes> {
    const rows = await this.sql.query<TakenRow[]>(
      `SELECT lane, epoch, id, topic, key, type, payload, headers, attempts, behind
       FROM ${this.s}.outbox_take($1, $2, $3, $4, $5)`,
      [relay, lease, most.messages, most.lanes, most.bytes ?? OUTBOX_PAGE_BYTES],
    );
    const messages = rows.filter((row): row is TakenRow & { payload: string } => !row.behind);
    const epochs = new Map(messages.map(({ lane, epoch }) => [lane, epoch]));
    const lanes = [...epochs].map(([lane, epoch]) => ({ lane, epoch }));
    return { lanes, messages, found: rows.length > 0 };
  }

  /** The lanes that are leased by a relay. Plan: 64 rows at most. */
  async lanesOf(relay: string): Promise<TakenLanes['lanes']> {
    return this.sql.query(`SELECT lane, epoch FROM ${this.s}.outbox_lane WHERE leased_by = $1`, [relay]);
  }

  async settle(lanes: TakenLanes['lanes'], settlement: Settlement): Promise<void> {
    const { sent, failed, behind, unfinished } = settlement;
    await this.sql.query(
      `SELECT ${this.s}.outbox_settle($1::uuid[], $2::uuid[], $3::text[], $4::int[], $5::float8[], $6::uuid[],
        $7::smallint[], $8::bigint[], $9::boolean[])`,
      [
        ...[sent, ...fieldArrays(failed, 'id', 'error', 'attempts', 'retryIn'), behind],
        ...[...fieldArrays(lanes, 'lane', 'epoch'), lanes.map(({ lane }) => unfinished.has(lane))],
      ],
    );
  }

  /**
   * For so long (ms) again. One that is not mine any more is left out.
   * Plan: by primary key, from 64 rows at most.
   */
  async renew(lanes: TakenLanes['lanes'], lease: number): Promise<number[]> {
    const rows = await this.sql.query<{ lane: number }[]>(
      `WITH renewed AS (
        UPDATE ${this.s}.outbox_lane l SET leased_until = now() + $3 * interval '1 millisecond'
        FROM unnest($1::smallint[], $2::bigint[]) AS w(lane, epoch)
        WHERE l.lane = w.lane AND l.epoch = w.epoch AND l.leased_by IS NOT NULL RETURNING l.lane)
       SELECT lane FROM renewed`,
      [...fieldArrays(lanes, 'lane', 'epoch'), lease],
    );
    return rows.map(({ lane }) => lane);
  }

  /** Up to PAGE_BYTES, and one at least. Plan: by outbox_dead. */
  async dead(limit: number, after?: { deadAt: string; id: string }): Promise<StoredDeadMessage[]> {
    const rows = await this.sql.query<DeadRow[]>(
      `SELECT id, aggregatetype AS topic, aggregateid AS key, type, payload::text AS payload, headers, attempts, error,
        (extract(epoch FROM created_at) * 1000)::float8 AS "createdAt",
        (extract(epoch FROM dead_at) * 1000)::float8 AS "deadAt", to_json(dead_at)#>>'{}' AS "deadAtText", place < found AS more
       FROM (SELECT d.*, row_number() OVER w AS place, count(*) OVER () AS found, sum(bytes) OVER w - bytes AS before FROM (
          SELECT * FROM ${this.s}.outbox WHERE dead_at IS NOT NULL AND (dead_at, id) >
            (coalesce($2, '-infinity')::timestamptz, coalesce($3, '00000000-0000-0000-0000-000000000000')::uuid)
          ORDER BY dead_at, id LIMIT $1) d
        WINDOW w AS (ORDER BY dead_at, id ROWS UNBOUNDED PRECEDING)) p
       WHERE before < ${OUTBOX_PAGE_BYTES} ORDER BY dead_at, id`,
      [limit, after?.deadAt, after?.id],
    );
    return rows.map((row) => ({ ...row, createdAt: new Date(row.createdAt), deadAt: new Date(row.deadAt) }));
  }

  async requeue(ids: readonly string[]): Promise<number> {
    return this.changed('outbox_requeue', ids);
  }

  async discard(ids: readonly string[]): Promise<number> {
    return this.changed('outbox_discard', ids);
  }

  async announce(channel: string): Promise<void> {
    await this.sql.query('SELECT pg_notify($1, $2)', [channel, 'published']);
  }

  /**
   * Where change data capture sends them: those that are older than this, so many at most. Gives how many there were.
   * Plan: of each lane the first ones, by outbox_ready.
   */
  async deleteOlder(age: number, most: number): Promise<number> {
    const [row] = await this.sql.query<[{ gone: number }]>(
      `WITH gone AS (
        DELETE FROM ${this.s}.outbox o USING (
          SELECT f.id FROM ${this.s}.outbox_lane l CROSS JOIN LATERAL (
            SELECT r.id, r.created_at FROM ${this.s}.outbox r WHERE r.lane = l.lane AND NOT r.held
            ORDER BY r.seq LIMIT $2) f
          WHERE f.created_at < now() - $1 * interval '1 millisecond') w
        WHERE o.id = w.id RETURNING 1)
       SELECT count(*)::int AS gone FROM gone`,
      [age, Math.max(1, Math.floor(most / LANES))],
    );
    return row.gone;
  }

  private async changed(name: string, ids: readonly string[]): Promise<number> {
    const text = `SELECT ${this.s}.${name}($1::uuid[]) AS changed`;
    const [row] = await this.sql.query<[{ changed: number }]>(text, [ids]);
    return row.changed;
  }
}
