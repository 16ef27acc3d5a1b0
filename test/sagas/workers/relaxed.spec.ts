import pg from 'pg';
import { Saga, Step, type StepContext } from '../../../libs/saga/src/index.js';
import { startEmbeddedPostgres } from '../../support/embedded-postgres.mjs';
import { Gate, until } from '../../support/gate.js';
import { TestApps } from '../../support/test-app.js';

/** Attempts, as `step key`, in order. */
let ran: string[] = [];
let beforeTwo: Gate;
let inThree: Gate;

class ThreeSteps {
  @Step()
  async one(ctx: StepContext<number>) {
    ran.push(`one ${ctx.idempotencyKey}`);
    return 1;
  }
  @Step()
  async two(ctx: StepContext<number>) {
    await beforeTwo.opened;
    ran.push(`two ${ctx.idempotencyKey}`);
    return 2;
  }
  @Step()
  async three(ctx: StepContext<number>) {
    ran.push(`three ${ctx.idempotencyKey}`);
    await inThree.opened;
    return 3;
  }
}

@Saga({ name: 'relaxed', durability: 'relaxed' })
class RelaxedSaga extends ThreeSteps {}

@Saga({ name: 'durable', durability: 'durable' })
class DurableSaga extends ThreeSteps {}

@Saga({ name: 'once', durability: 'relaxed' })
class AtMostOnceSaga {
  @Step({ idempotent: false })
  async pay() {
    return 1;
  }
}

beforeEach(() => {
  ran = [];
  beforeTwo = new Gate();
  inThree = new Gate();
});

/** So many attempts of the step have begun. */
const attempted = (step: string, count: number) =>
  until(() => ran.filter((one) => one.startsWith(step)).length >= count);

describe('what a commit waits for', () => {
  const apps = TestApps.onOwnDatabase();

  /** What counts is the setting at the very end of a transaction, which is when a deferred trigger runs. */
  async function watchCommits(): Promise<void> {
    await apps.sql(`
      CREATE TABLE IF NOT EXISTS commits (n serial, name text, setting text, operation text, checkpoints int);
      TRUNCATE commits;
      CREATE OR REPLACE FUNCTION note_commit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO commits (name, setting, operation, checkpoints)
        VALUES (NEW.name, current_setting('synchronous_commit'), TG_OP, NEW.checkpoints);
        RETURN NULL;
      END $$;
      DROP TRIGGER IF EXISTS note_commit ON saga.instance;
      CREATE CONSTRAINT TRIGGER note_commit AFTER INSERT OR UPDATE ON saga.instance
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION note_commit()`);
  }

  /** The synchronous_commit settings of a name's sagas: at the start, and at checkpoints. */
  async function settings(name: string): Promise<{ starts: string[]; checkpoints: string[] }> {
    const rows = await apps.sql<{ setting: string; operation: string; checkpoints: number }>(
      'SELECT setting, operation, checkpoints FROM commits WHERE name = $1 ORDER BY n',
      [name],
    );
    const of = (kind: typeof rows) => [...new Set(kind.map(({ setting }) => setting))];
    return {
      starts: of(rows.filter(({ operation }) => operation === 'INSERT')),
      checkpoints: of(rows.filter(({ checkpoints }) => checkpoints > 0)),
    };
  }

  test('relaxed sagas wait for no disk, and durable ones of the same process at the same time do', async () => {
    const { sagas } = await apps.start({ sagas: [RelaxedSaga, DurableSaga] });
    await watchCommits();
    beforeTwo.open();
    inThree.open();
    const started = await Promise.all(
      Array.from({ length: 60 }, (_, n) => sagas.start(n % 2 ? RelaxedSaga : DurableSaga, n)),
    );
    // Alone, as on an idle server.
    for (const saga of [RelaxedSaga, DurableSaga]) started.push(await sagas.start(saga, 0));
    for (const handle of started)
      expect(await handle.outcome()).toMatchObject({
        status: 'completed',
        results: { one: 1, two: 2, three: 3 },
      });
    expect(await settings('relaxed')).toEqual({ starts: ['off'], checkpoints: ['off'] });
    expect(await settings('durable')).toEqual({ starts: ['on'], checkpoints: ['on'] });
    // Other connections keep their setting.
    const { dataSource } = await apps.start({ sagas: [] });
    expect(await dataSource.query('SHOW synchronous_commit')).toEqual([{ synchronous_commit: 'on' }]);
  });

  test('the start of a step that must not be run twice waits for the disk', async () => {
    const { sagas } = await apps.start({ sagas: [AtMostOnceSaga] });
    await watchCommits();
    await (await sagas.start(AtMostOnceSaga, undefined)).outcome();
    const rows = await apps.sql('SELECT setting FROM commits WHERE checkpoints > 0 ORDER BY n');
    expect(rows).toEqual([{ setting: 'on' }, { setting: 'off' }]);
  });

  test('a start within a transaction of the application is as durable as that', async () => {
    const { sagas, dataSource } = await apps.start({ sagas: [RelaxedSaga] });
    await watchCommits();
    await dataSource.transaction((manager) => sagas.start(RelaxedSaga, 1, { manager }));
    expect(await settings('relaxed')).toMatchObject({ starts: ['on'] });
  });

  test('one whose last checkpoint is gone goes on from the one before, with the same keys, and stores all of it', async () => {
    const { sagas } = await apps.start({ sagas: [RelaxedSaga] });
    beforeTwo.open();
    const handle = await sagas.start(RelaxedSaga, 1);
    const { id } = handle;
    await attempted('three', 1);
    // As the server, when it comes back from a crash.
    await apps.sql('UPDATE saga.instance SET checkpoints = checkpoints - 1 WHERE id = $1', [id]);
    await apps.sql(`DELETE FROM saga.step WHERE saga_id = $1 AND name = 'two'`, [id]);
    inThree.open();
    expect(await handle.outcome()).toMatchObject({
      status: 'completed',
      results: { one: 1, two: 2, three: 3 },
    });
    expect(ran).toEqual(['one', 'two', 'three', 'two', 'three'].map((step) => `${step} ${id}:${step}`));
    await all(id);
  });

  /** Every step is stored as completed. */
  async function all(id: string): Promise<void> {
    const steps = await apps.sql('SELECT name, status FROM saga.step WHERE saga_id = $1 ORDER BY name', [id]);
    expect(steps).toEqual(['one', 'three', 'two'].map((name) => ({ name, status: 'completed' })));
  }
});

describe('the database server crashes', () => {
  const SAGAS = 40;
  const apps = TestApps.onOwnDatabase();
  let server: Awaited<ReturnType<typeof startEmbeddedPostgres>>;

  beforeAll(async () => {
    // What is not waited for is written as late as can be, so that there is something to lose.
    server = await startEmbeddedPostgres({ settings: { wal_writer_delay: '10s' } });
  });
  afterAll(() => server.stop());

  test('what it took happens again with the same keys, and every saga is whole', async () => {
    const { sagas, close } = await apps.start({
      ...{ sagas: [RelaxedSaga], dataSource: { url: server.url } },
      options: { worker: { lease: 60_000 } },
    });
    const query = async (text: string) => {
      const client = new pg.Client({ connectionString: server.url });
      await client.connect();
      const { rows } = await client.query<Record<string, unknown>>(text);
      await client.end();
      return rows;
    };
    const started = await Promise.all(
      Array.from({ length: SAGAS }, (_, n) => sagas.start(RelaxedSaga, n, { correlationId: `old-${n}` })),
    );
    await attempted('one', SAGAS);
    await until(async () => (await query(`SELECT 1 FROM saga.step WHERE name = 'one'`)).length === SAGAS);
    // Whatever comes before a commit that waits for the disk is safe with it.
    await query('CREATE TABLE safe ()');
    beforeTwo.open();
    await attempted('three', SAGAS);
    const forgotten = await sagas.start(RelaxedSaga, 1, { correlationId: 'new' });
    server.process!.kill('SIGQUIT');
    await until(() => !server.isRunning);
    await server.resume();
    const [{ two }] = (await query(`SELECT count(*)::int AS two FROM saga.step WHERE name = 'two'`)) as [
      { two: number },
    ];
    inThree.open();

    for (const { id } of started)
      expect(await sagas.wait(id)).toMatchObject({
        status: 'completed',
        results: { one: 1, two: 2, three: 3 },
      });
    const rows = await query(
      `SELECT i.id, count(*)::int AS steps FROM saga.instance i JOIN saga.step s ON s.saga_id = i.id
       WHERE i.status = 'completed' AND s.status = 'completed' AND i.correlation_id LIKE 'old-%' GROUP BY i.id`,
    );
    expect(rows).toHaveLength(SAGAS);
    expect(rows.filter(({ steps }) => steps !== 3)).toEqual([]);
    // Something was lost, and that happened again.
    const again = ran.filter((one) => one.startsWith('two') && !one.includes(forgotten.id)).length - SAGAS;
    expect(again).toBeGreaterThan(0);
    expect(again).toBeGreaterThanOrEqual(SAGAS - two);
    const keys = new Set(ran.filter((one) => !one.includes(forgotten.id)));
    expect(keys.size).toBe(3 * SAGAS);
    // It had only just been started: either it is there, and ends, or it may be started anew.
    const restarted = await sagas.start(RelaxedSaga, 1, { correlationId: 'new' });
    expect((await restarted.outcome()).status).toBe('completed');
    await close();
  });
});
