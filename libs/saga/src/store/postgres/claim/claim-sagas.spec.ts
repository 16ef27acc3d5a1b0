import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { DataSource } from 'typeorm';
import { until } from '../../../../../../test/support/gate.js';
import { createTestDatabase, type TestDatabase } from '../../../../../../test/support/test-database.js';
import type { Checkpoint } from '../../../engine/ports/checkpoint.js';
import type { NewSaga } from '../../../engine/ports/stored-saga.js';
import {
  checkpointOf,
  stateOf,
  lastCheckpointOf,
  loaded,
  newSaga,
  OTHER_WORKER,
  uniqueName,
  WORKER,
} from '../../../../../../test/contract/store-subject.contract.js';
import { SagaClaims } from './claim-sagas.js';
import { migrate } from '../setup/migrate.js';
import { PostgresSagaStore } from '../postgres-saga-store.js';
import type { EngineSql } from '../connection/engine-sql.js';
import { sqlOf } from '../typeorm/typeorm-database.js';
import { PAGE_BYTES, type Query, SagaReader } from '../read/saga-reader.js';
import { statementsOf, statementTexts } from '../sql-texts.js';

const sql = statementsOf('saga');
const texts = statementTexts('saga');
let database: TestDatabase;
let client: pg.Client;
let application: DataSource;
let engine: EngineSql;
let store: PostgresSagaStore;

beforeAll(async () => {
  database = await createTestDatabase();
  client = new pg.Client({ connectionString: database.url });
  await client.connect();
  application = await new DataSource({ type: 'postgres', url: database.url }).initialize();
  // What ends the connections of the pool is meant to.
  (application.driver as unknown as { master: pg.Pool }).master.on('error', () => undefined);
  engine = sqlOf(application);
  await migrate(engine, 'saga');
  store = new PostgresSagaStore(engine, 'saga');
});

afterAll(async () => {
  await application.destroy();
  await client.end();
  await database.drop();
});

const due = async (...given: Partial<NewSaga>[]): Promise<string[]> => {
  const sagas = given.map((saga) => newSaga(saga));
  for (const saga of sagas) await store.start([saga], WORKER);
  return sagas.map(({ id }) => id);
};
/** Due immediately, and without a holder. */
const isGivenBack = async (id: string) => {
  const saga = await loaded(store, id);
  const [row] = (await client.query('SELECT now() >= due_at AS due FROM saga.instance WHERE id = $1', [id]))
    .rows as { due: boolean }[];
  expect({ lockedBy: saga.lockedBy, ...row }).toEqual({ lockedBy: undefined, due: true });
};

describe('a claim whose connection is lost while it enqueues sagas', () => {
  /** Ends the connection that waits for this queue. */
  const whileLineIsHeld = async (name: string, work: () => Promise<unknown>) => {
    const holder = new pg.Client({ connectionString: database.url });
    await holder.connect();
    await holder.query('BEGIN');
    await holder.query('SELECT saga.lock_queues(ARRAY[$1], ARRAY[$2])', [name, 'k']);
    const working = work();
    await until(async () => {
      const ended = await client.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%lock_enqueue%'`,
      );
      return ended.rowCount;
    });
    try {
      await working;
    } finally {
      await holder.end();
    }
  };

  test('gives them back at once, and runs the others', async () => {
    const name = uniqueName();
    const [first, plain, second] = (await due({ name, lockKey: 'k' }, { name }, { name, lockKey: 'k' })) as [
      string,
      string,
      string,
    ];
    const request = { lease: WORKER, sagas: [{ name, version: 1 }], limit: 10 };
    await whileLineIsHeld(name, async () => {
      const claim = await store.claim(request);
      expect(claim.sagas.map(({ id }) => id)).toEqual([plain]);
      expect(claim.failure).toBeInstanceOf(Error);
      expect(claim.nextDueAt).toBe(claim.now);
    });
    for (const id of [first, second]) await isGivenBack(id);
    const again = await store.claim({ ...request, lease: OTHER_WORKER });
    expect(again.sagas).toMatchObject([{ id: first, takeovers: 0, lock: { held: true } }]);
  });

  test('fails if there is nothing else, and has given them back', async () => {
    const name = uniqueName();
    const [id] = (await due({ name, lockKey: 'k' })) as [string];
    const request = { lease: WORKER, sagas: [{ name, version: 1 }], limit: 10 };
    await whileLineIsHeld(name, () => expect(store.claim(request)).rejects.toThrow(/terminat/));
    await isGivenBack(id);
  });
});

describe('a claim', () => {
  /** Claims as the store does; the answers to these statements are lost, so many times each. */
  const claimsWithout = (lost: Partial<Record<keyof typeof sql, number>>) => {
    const left = new Map(
      Object.entries(lost).map(([name, times]) => [texts[name as keyof typeof sql], times]),
    );
    const query: Query = async (text, parameters) => {
      const rows = await engine.query<never[]>(text, parameters);
      const times = left.get(text) ?? 0;
      if (times === 0) return rows;
      left.set(text, times - 1);
      throw Object.assign(new Error('connection terminated'), { code: 'ECONNRESET' });
    };
    return new SagaClaims(query, sql, new SagaReader(query, sql, PAGE_BYTES));
  };

  test('that cannot read claimed sagas with a limit releases them, and their slots', async () => {
    const name = uniqueName();
    const ids = await due({ name }, { name });
    const request = { lease: WORKER, sagas: [{ name, version: 1, maxLeases: 2 }], limit: 10 };
    await expect(claimsWithout({ claimed: 1 }).claim(request)).rejects.toThrow('connection terminated');
    for (const id of ids) await isGivenBack(id);
    expect((await store.claim(request)).sagas).toHaveLength(2);
  });

  test('runs what it took with a limit when the rest cannot be taken', async () => {
    const [limited, plain] = [uniqueName(), uniqueName()];
    const [id] = await due({ name: limited }, { name: plain });
    const sagas = [
      { name: limited, version: 1, maxLeases: 2 },
      { name: plain, version: 1 },
    ];
    const claim = await claimsWithout({ claim: 1 }).claim({ lease: WORKER, sagas, limit: 10 });
    expect(claim.sagas.map((saga) => saga.id)).toEqual([id]);
    expect(claim.failure).toBeInstanceOf(Error);
  });

  test('tries again to give back while the database does not answer', async () => {
    const name = uniqueName();
    const [first, second] = (await due({ name, lockKey: 'k' }, { name, lockKey: 'k' })) as [string, string];
    const request = { lease: WORKER, sagas: [{ name, version: 1 }], limit: 10 };
    const claims = claimsWithout({ enqueue: 1, giveBack: 3 });
    await expect(claims.claim(request)).rejects.toThrow('connection terminated');
    // It was lined up, only the answer was lost: the lock is had, and the other waits for it.
    await isGivenBack(first);
    expect((await loaded(store, second)).dueAt).toBeUndefined();
    expect((await store.claim(request)).sagas).toMatchObject([{ id: first, lock: { held: true } }]);
  });

  test('releases no lease that another worker took', async () => {
    const name = uniqueName();
    const [id] = (await due({ name })) as [string];
    const [saga] = (await store.claim({ lease: OTHER_WORKER, sagas: [{ name, version: 1 }], limit: 1 }))
      .sagas;
    for (const [epoch, worker] of [
      [saga!.epoch, WORKER.worker],
      [saga!.epoch - 1, OTHER_WORKER.worker],
    ])
      await engine.query(...sql.giveBack({ ids: [id], epochs: [epoch], worker, delay: 0 }));
    expect(await loaded(store, id)).toEqual(saga);
  });
});

describe.each([undefined, 5])('a row that another transaction has locked (maxLeases: %s)', (maxLeases) => {
  test('keeps no claim waiting: it takes the others, and learns that one more is due', async () => {
    const name = uniqueName();
    const [locked, free] = (await due({ name }, { name })) as [string, string];
    await client.query('BEGIN');
    try {
      await client.query('SELECT FROM saga.instance WHERE id = $1 FOR UPDATE', [locked]);
      const request = { lease: WORKER, sagas: [{ name, version: 1, maxLeases }], limit: 10 };
      const claim = await Promise.race([store.claim(request), sleep(10_000, undefined, { ref: false })]);
      expect(claim?.sagas.map(({ id }) => id)).toEqual([free]);
      expect(claim!.nextDueAt).toBeLessThanOrEqual(claim!.now);
    } finally {
      await client.query('ROLLBACK');
    }
  });
});

test('claims of a name with a limit come one after the other', async () => {
  const name = uniqueName();
  const request = { lease: WORKER, sagas: [{ name, version: 1, maxLeases: 1 }], limit: 10 };
  await due({ name });
  const { sagas } = await store.claim(request);
  expect(await store.checkpoint(sagas.map((saga) => lastCheckpointOf(saga)))).toEqual(['saved']);
  await due({ name }, { name });
  await client.query('BEGIN');
  await client.query('SELECT FROM saga.saga_limit WHERE saga = $1 FOR UPDATE', [name]);
  const claiming = [store.claim(request), store.claim({ ...request, lease: OTHER_WORKER })];
  await until(async () => {
    const waiting = await engine.query<unknown[]>(
      `SELECT FROM pg_stat_activity
       WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%claim_limited%'`,
    );
    return waiting.length === 2;
  });
  await client.query('COMMIT');
  const claims = await Promise.all(claiming);
  expect(claims.flatMap(({ sagas: taken }) => taken)).toHaveLength(1);
});

test('a saga that enters the queue while the lock is being passed on gets it', async () => {
  const name = uniqueName();
  const [first, second] = (await due({ name, lockKey: 'k' }, { name, lockKey: 'k' })) as [string, string];
  const request = { lease: WORKER, sagas: [{ name, version: 1 }], limit: 1 };
  expect((await store.claim(request)).sagas.map(({ id }) => id)).toEqual([first]);
  await client.query('BEGIN');
  await client.query(`SELECT saga.lock_queues(ARRAY[$1], ARRAY['k'])`, [name]);
  await client.query(
    `UPDATE saga.instance SET status = 'completed', locked_by = NULL, due_at = NULL, rank_at = NULL WHERE id = $1`,
    [first],
  );
  await client.query('SELECT saga.lock_dequeue(ARRAY[$1]::uuid[])', [first]);
  let hasEnded = false;
  const claiming = store.claim(request).finally(() => (hasEnded = true));
  await until(async () => {
    const waiting = await engine.query<unknown[]>(
      `SELECT FROM pg_stat_activity
       WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%lock_enqueue%'`,
    );
    return hasEnded || waiting.length;
  });
  await client.query('COMMIT');
  expect((await claiming).sagas.map(({ id }) => id)).toEqual([second]);
});

test('a saga that ended at a raised isolation level is no longer due once its lock is passed on, even if it was claimed meanwhile', async () => {
  const name = uniqueName();
  const [first, second] = (await due({ name, lockKey: 'k' }, { name, lockKey: 'k' })) as [string, string];
  const request = { lease: WORKER, sagas: [{ name, version: 1 }], limit: 1 };
  const [held] = (await store.claim(request)).sagas;
  expect((await store.claim(request)).sagas).toEqual([]);
  // What the checkpoint of such a transaction leaves behind.
  await client.query(
    `UPDATE saga.instance SET status = 'completed', finished_at = now(), locked_by = NULL, due_at = now(), rank_at = now()
     WHERE id = $1`,
    [first],
  );
  // The process that committed it removes it from its queue after another's claim has taken it.
  const query = engine.query.bind(engine) as Query;
  const ending = new SagaClaims(query, sql, new SagaReader(query, sql, PAGE_BYTES));
  const claims = new SagaClaims(
    async <R>(text: string, parameters: unknown[]) => {
      const rows = await query<R>(text, parameters);
      if (text === texts.claim) {
        await ending.dequeue({ id: first, epoch: held!.epoch, lock: { name, key: 'k' } } as Checkpoint);
        // As if the claim had left its steps to a statement of their own: it is read anew.
        return rows.map((row) => ({ ...row, inParts: true }));
      }
      return rows;
    },
    sql,
    new SagaReader(query, sql, PAGE_BYTES),
  );
  expect((await claims.claim({ ...request, lease: OTHER_WORKER })).sagas).toEqual([]);
  const { rows } = await client.query(
    'SELECT locked_by, due_at, rank_at, lock_state FROM saga.instance WHERE id = $1',
    [first],
  );
  expect(rows).toEqual([{ locked_by: null, due_at: null, rank_at: null, lock_state: null }]);
  expect((await store.claim(request)).sagas.map(({ id }) => id)).toEqual([second]);
});

test.each(['fenced', 'cancelled'] as const)(
  'what a transaction wrote is rolled back when its checkpoint is %s',
  async (refusal) => {
    await client.query('CREATE TABLE IF NOT EXISTS written (saga uuid)');
    const given = newSaga({ leased: true });
    await store.start([given], WORKER);
    const saga = await loaded(store, given.id);
    if (refusal === 'cancelled') await store.edit({ id: saga.id }, () => ({ requestCancel: {} }));
    const epoch = refusal === 'fenced' ? saga.epoch + 1 : saga.epoch;
    const result = await store.transact(async ({ manager }) => {
      await manager!.query('INSERT INTO written VALUES ($1)', [saga.id]);
      return checkpointOf({ id: saga.id, epoch }, stateOf('running'));
    });
    expect(result).toBe(refusal);
    expect((await client.query('SELECT FROM written WHERE saga = $1', [saga.id])).rowCount).toBe(0);
  },
);
