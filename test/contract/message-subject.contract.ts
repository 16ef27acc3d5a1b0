import { DataSource, type EntityManager, type QueryRunner } from 'typeorm';
import { createTestDatabase } from '../support/test-database.js';
import { InboxModel } from '../models/inbox-model.js';
import { OutboxModel } from '../models/outbox-model.js';
import { joinedOf, ModelSession, TransactionModel } from '../models/transaction-model.js';
import type { InboxStore, OutboxStore } from '../../libs/saga/src/store/outbox-store.js';
import { migrate } from '../../libs/saga/src/store/postgres/setup/migrate.js';
import { MESSAGING_NEEDS } from '../../libs/saga/src/store/postgres/setup/needs.js';
import type { JoinedTransaction } from '../../libs/saga/src/store/postgres/connection/saga-database.js';
import { LANES } from '../../libs/saga/src/store/postgres/outbox/postgres-outbox.js';
import { PostgresInbox } from '../../libs/saga/src/store/postgres/outbox/postgres-inbox.js';
import { PostgresOutbox } from '../../libs/saga/src/store/postgres/outbox/postgres-outbox.js';
import { sqlOf } from '../../libs/saga/src/store/postgres/typeorm/typeorm-database.js';

/** A transaction that the test ends. */
export interface OpenTransaction {
  readonly manager: EntityManager;
  commit(): Promise<void>;
  rollback(): Promise<void>;
}

/** An outbox and an inbox under test, with nothing in them. */
export interface MessageSubject {
  readonly outbox: OutboxStore;
  readonly inbox: InboxStore;
  begin(): Promise<OpenTransaction>;
  /** The statements of a transaction. */
  join(manager: EntityManager): JoinedTransaction;
  /** Keys of the topic `t` in one lane; others are in another one. */
  readonly keys: readonly string[];
  readonly otherKeys: readonly string[];
  /** Fails in the transaction, and says nothing of it. */
  fail(transaction: OpenTransaction): Promise<void>;
  /** Lets time pass: whatever is stored is so many milliseconds longer ago. */
  advance(ms: number): Promise<void>;
}

export interface MessageSubjects {
  fresh(): Promise<MessageSubject>;
  close(): Promise<void>;
}

const KEYS = Array.from({ length: 400 }, (_, n) => `k${n}`);

function byLane(laneOf: (key: string) => number): { keys: string[]; otherKeys: string[] } {
  const [first, other] = [laneOf(KEYS[0]!), laneOf(KEYS.find((key) => laneOf(key) !== laneOf(KEYS[0]!))!)];
  const of = (lane: number) => KEYS.filter((key) => laneOf(key) === lane).slice(0, 3);
  return { keys: of(first), otherKeys: of(other) };
}

export async function modelSubjects(): Promise<MessageSubjects> {
  const fresh = async (): Promise<MessageSubject> => {
    let now = Date.UTC(2026, 0, 1);
    const transactions = new TransactionModel();
    const outbox = new OutboxModel({ now: () => now, transactions });
    const begin = async () => {
      const session = new ModelSession(transactions);
      const { manager } = session;
      return { manager, session, commit: () => session.commit(), rollback: () => session.rollback() };
    };
    return {
      ...{ outbox, begin, join: joinedOf, ...byLane((key) => outbox.laneOf('t', key)) },
      inbox: new InboxModel(transactions),
      fail: async ({ manager }) => {
        const { session } = manager as unknown as { session: ModelSession };
        await session.statement(() => Promise.reject(new Error('no'))).catch(() => undefined);
      },
      advance: async (ms) => {
        now += ms;
      },
    };
  };
  return { fresh, close: async () => undefined };
}

const SCHEMA = 'saga';

export async function postgresSubjects(): Promise<MessageSubjects> {
  const database = await createTestDatabase();
  const application = await new DataSource({ type: 'postgres', url: database.url }).initialize();
  const sql = sqlOf(application);
  await migrate(sql, SCHEMA, MESSAGING_NEEDS);
  const rows: { key: string; lane: number }[] = await application.query(
    `SELECT k AS key, (hashtextextended('t ' || k, 0) & ($1::int - 1))::int AS lane FROM unnest($2::text[]) k`,
    [LANES, KEYS],
  );
  const open = new Set<QueryRunner>();
  const lanes = new Map(rows.map(({ key, lane }) => [key, lane]));
  const subject: MessageSubject = {
    outbox: new PostgresOutbox(sql, SCHEMA),
    inbox: new PostgresInbox(sql, SCHEMA),
    join: (manager) => sql.database.join(manager),
    ...byLane((key) => lanes.get(key)!),
    begin: async () => {
      const runner = application.createQueryRunner();
      open.add(runner);
      await runner.startTransaction();
      const end = (how: 'commitTransaction' | 'rollbackTransaction') => async () => {
        open.delete(runner);
        await runner[how]();
        await runner.release();
      };
      return {
        manager: runner.manager,
        commit: end('commitTransaction'),
        rollback: end('rollbackTransaction'),
      };
    },
    fail: async ({ manager }) => {
      await manager.query('SELECT 1 / 0').catch(() => undefined);
    },
    advance: async (ms) => {
      const shift = async (table: string, columns: readonly string[]) => {
        const shifted = columns.map((column) => `${column} = ${column} - $1 * interval '1 millisecond'`);
        await application.query(`UPDATE ${SCHEMA}.${table} SET ${shifted.join(', ')}`, [ms]);
      };
      await shift('outbox', ['retry_at', 'dead_at', 'created_at']);
      await shift('outbox_lane', ['leased_until', 'served_at', 'read_from_start_at']);
    },
  };
  const fresh = async () => {
    // What a test that failed has left behind.
    await Promise.all([...open].map((runner) => runner.release()));
    await application.query(`TRUNCATE ${SCHEMA}.outbox, ${SCHEMA}.inbox, ${SCHEMA}.outbox_lane`);
    await application.query(
      `INSERT INTO ${SCHEMA}.outbox_lane (lane) SELECT generate_series(0, ${LANES - 1})`,
    );
    return subject;
  };
  const close = async () => {
    await application.destroy();
    await database.drop();
  };
  return { fresh, close };
}
