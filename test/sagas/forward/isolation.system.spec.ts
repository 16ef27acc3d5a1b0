import pg from 'pg';
import { Saga, type SagaHandle, Step, type TransactionalStepContext } from '../../../libs/saga/src/index.js';
import { Gate, pause, until } from '../../support/gate.js';
import { TestApps } from '../../support/test-app.js';

const apps = TestApps.onOwnDatabase();
/** What is not handed over, or woken, is not found by looking either. */
const NO_POLL = { worker: { pollInterval: '1h' } } as const;
/** Milliseconds. So long that a busy machine renews it in time: a lease that is lost is another attempt. */
const LEASE = 4_000;
const LEVELS = ['READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE'];
const completed = async (...handles: SagaHandle[]) => {
  const outcomes = await Promise.all(handles.map((handle) => handle.outcome({ timeout: '60s' })));
  expect(outcomes.map(({ status }) => status)).toEqual(handles.map(() => 'completed'));
};

/** A saga whose last step is a transaction that waits at a gate, once it sees what it sees. */
function scene(level: string) {
  const [seen, goOn] = [new Gate(), new Gate()];
  let attempts = 0;
  @Saga({ name: 'transfer', lockKey: () => 'one account' })
  class Transfer {
    @Step({ transactional: true })
    async book({ manager, input }: TransactionalStepContext<{ waits: boolean }>) {
      await manager.query(`SET TRANSACTION ISOLATION LEVEL ${level}`);
      await manager.query('SELECT count(*) FROM saga.instance');
      attempts += 1;
      if (!input.waits) return;
      seen.open();
      await goOn.opened;
    }
  }
  return { Transfer, seen, goOn, attempts: () => attempts };
}

describe.each(LEVELS)('a transactional step at %s', (level) => {
  test('passes its lock key on to a saga that queued while it ran', async () => {
    const { Transfer, seen, goOn } = scene(level);
    const { sagas, stopPolling } = await apps.start({ sagas: [Transfer], options: NO_POLL });
    stopPolling();
    const first = await sagas.start(Transfer, { waits: true });
    await seen.opened;
    const others = [
      await sagas.start(Transfer, { waits: false }),
      await sagas.start(Transfer, { waits: false }),
    ];
    for (const { id } of others) await until(async () => (await sagas.get(id)).waitingFor?.kind === 'lock');
    goOn.open();
    await completed(first, ...others);
    // A saga that ended at a raised level leaves the queue right after its commit, when its outcome is
    // reported.
    const queued = 'SELECT FROM saga.instance WHERE lock_state IS NOT NULL OR rank_at IS NOT NULL';
    await until(async () => (await apps.sql(queued)).length === 0);
  });

  test('is made again once at most when its lease was renewed meanwhile, however long it takes', async () => {
    const { Transfer, seen, goOn, attempts } = scene(level);
    const { sagas } = await apps.start({
      sagas: [Transfer],
      options: { worker: { lease: LEASE, pollInterval: '1h' } },
    });
    const handle = await sagas.start(Transfer, { waits: true });
    await seen.opened;
    const renewed = await leaseEnd();
    await until(async () => (await leaseEnd()) > renewed);
    goOn.open();
    await completed(handle);
    expect(attempts()).toBe(level === 'READ COMMITTED' ? 1 : 2);
  });
});

test.each(LEVELS)(
  'a transactional step at %s that always takes longer than its lease completes',
  async (level) => {
    let attempts = 0;
    @Saga({ name: 'slow' })
    class Slow {
      @Step({ transactional: true }) async work({ manager }: TransactionalStepContext) {
        attempts += 1;
        await manager.query(`SET TRANSACTION ISOLATION LEVEL ${level}`);
        await manager.query('SELECT count(*) FROM saga.instance');
        await pause(1.3 * LEASE);
      }
    }
    const { sagas } = await apps.start({
      sagas: [Slow],
      options: { worker: { lease: LEASE, pollInterval: '1h' } },
    });
    const handle = await sagas.start(Slow, {});
    await completed(handle);
    expect(attempts).toBeLessThanOrEqual(2);
    expect((await sagas.get(handle.id)).steps[0]!.attempts).toBe(1);
  },
);

test('a lock key is passed on by the next worker if the process is lost after a commit at a raised level', async () => {
  const { Transfer, seen, goOn } = scene('REPEATABLE READ');
  const lost = await apps.start({ sagas: [Transfer], options: NO_POLL });
  const first = await lost.sagas.start(Transfer, { waits: true });
  await seen.opened;
  const next = await lost.sagas.start(Transfer, { waits: false });
  await until(async () => (await lost.sagas.get(next.id)).waitingFor?.kind === 'lock');
  // Another transaction locks the queue: the hand-over waits, and ends with its connection.
  await apps.sql('BEGIN');
  await apps.sql(`SELECT saga.lock_queues('{transfer}', '{one account}')`);
  goOn.open();
  await until(async () => (await lost.sagas.get(first.id)).status === 'completed');
  await until(async () => {
    const [{ ended }] =
      (await apps.sql(`SELECT count(pg_terminate_backend(pid))::int AS ended FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event = 'advisory'`)) as [{ ended: number }];
    return ended > 0;
  });
  await apps.sql('COMMIT');
  const { sagas } = await apps.start({ sagas: [Transfer], options: { worker: { pollInterval: '50ms' } } });
  expect((await sagas.wait(next.id, { timeout: '20s' })).status).toBe('completed');
});

describe.each(['repeatable read', 'serializable'])('where %s is the default', (level) => {
  const setDefault = (to: string) =>
    apps.sql(
      `ALTER DATABASE ${pg.escapeIdentifier(new URL(apps.url).pathname.slice(1))} SET default_transaction_isolation = ${to}`,
    );
  beforeEach(() => setDefault(`'${level}'`));
  afterEach(() => setDefault('DEFAULT'));

  test('what the engine sends by itself is at READ COMMITTED, and what the application sends is not', async () => {
    const seen: string[] = [];
    @Saga({ name: 'looking' })
    class Looking {
      @Step({ transactional: true }) async look({ manager }: TransactionalStepContext) {
        seen.push(await levelOf(manager));
      }
    }
    const { sagas, dataSource } = await apps.start({ sagas: [Looking] });
    await apps.sql(`CREATE TABLE levels (saga text, level text);
      CREATE FUNCTION note_level() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO public.levels VALUES (new.name, current_setting('transaction_isolation')); RETURN new; END $$;
      CREATE TRIGGER note_level BEFORE INSERT OR UPDATE ON saga.instance FOR EACH ROW EXECUTE FUNCTION note_level()`);
    try {
      await completed(...(await Promise.all([1, 2, 3].map(() => sagas.start(Looking, {}, { delay: 1 })))));
      const levels = await apps.sql<{ level: string }>('SELECT DISTINCT level FROM levels ORDER BY level');
      // Starts and claims; and the checkpoints that are part of the steps' transactions.
      expect(levels.map((row) => row.level)).toEqual(['read committed', level]);
      expect(new Set(seen)).toEqual(new Set([level]));
      expect(await dataSource.transaction(levelOf)).toBe(level);
      expect(await levelOf(dataSource)).toBe(level);
    } finally {
      await apps.sql('DROP TRIGGER note_level ON saga.instance; DROP FUNCTION note_level; DROP TABLE levels');
    }
  });

  test('when the level changes while applications run, a lock key is still passed on', async () => {
    const { Transfer, seen, goOn } = scene('READ COMMITTED');
    await setDefault('DEFAULT');
    const { sagas, dataSource } = await apps.start({ sagas: [Transfer], dataSource: { poolSize: 3 } });
    await setDefault(`'${level}'`);
    // Whatever connections there are, the next ones are made now.
    await apps.sql(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`,
    );
    await until(() =>
      levelOf(dataSource).then(
        (now) => now === level,
        () => false,
      ),
    );
    const first = await sagas.start(Transfer, { waits: true });
    await seen.opened;
    const others = await Promise.all([1, 2, 3].map(() => sagas.start(Transfer, { waits: false })));
    for (const { id } of others) await until(async () => (await sagas.get(id)).waitingFor?.kind === 'lock');
    goOn.open();
    await completed(first, ...others);
  });
});

async function levelOf(sql: { query(text: string): Promise<unknown> }): Promise<string> {
  const [row] = (await sql.query(`SELECT current_setting('transaction_isolation') AS level`)) as [
    { level: string },
  ];
  return row.level;
}

async function leaseEnd(): Promise<number> {
  const [row] = await apps.sql<{ due_at: Date }>('SELECT due_at FROM saga.instance');
  return row!.due_at.getTime();
}
