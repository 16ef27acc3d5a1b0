import { randomUUID } from 'node:crypto';
import pg from 'pg';
import {
  type CompensationContext,
  Saga,
  SagaConflictError,
  type SagaModuleOptions,
  Step,
  type StepContext,
  StepRejectedError,
  SubSaga,
  WaitFor,
} from '../../../libs/saga/src/index.js';
import { MOST_MOVED } from '../../../libs/saga/src/store/postgres/partitions/postgres-partitions.js';
import { until } from '../../support/gate.js';
import {
  DAY,
  dayOf,
  idOf,
  PartitionedTables,
  upkeep,
  upkeepUntil,
} from '../../support/partitioned-tables.js';
import { TestApps } from '../../support/test-app.js';

const apps = TestApps.onOwnDatabase();

@Saga({ name: 'order' })
class OrderSaga {
  @Step({ compensate: 'undo' }) reserve(ctx: StepContext<{ fails?: boolean }>) {
    if (ctx.input.fails) throw new StepRejectedError('no');
    return 'reserved';
  }
  async undo(_ctx: CompensationContext) {}
}
@Saga({ name: 'question' })
class QuestionSaga {
  @WaitFor({ signal: 'answer' }) ask(_ctx: StepContext, answer: string) {
    return answer;
  }
}
@Saga({ name: 'leaf' })
class LeafSaga {
  @Step({ compensate: 'undo' }) do() {}
  undo() {}
}
@Saga({ name: 'tree' })
class TreeSaga {
  @SubSaga(() => LeafSaga) leaf() {}
}

const sagas = [OrderSaga, QuestionSaga, LeafSaga, TreeSaga];
const start = (options: SagaModuleOptions = {}) =>
  apps.start({ sagas, options: { partitions: 'daily', retention: '30d', ...options } });
type App = Awaited<ReturnType<typeof start>>;
const tables = new PartitionedTables(apps);

afterEach(() => apps.sql('DROP SCHEMA IF EXISTS saga CASCADE'));

async function ended(app: App, daysAgo: number, correlationId?: string): Promise<string> {
  const saga = await app.sagas.start(OrderSaga, {}, { id: idOf(daysAgo), correlationId });
  await saga.outcome();
  await tables.endedThen([saga.id]);
  return saga.id;
}

describe('sagas in partitions', () => {
  test('run, fail, wait, start others and are found as ever, each with its steps in the partition of its day', async () => {
    const app = await start();
    const done = await app.sagas.start(OrderSaga, {}, { correlationId: 'o-1' });
    expect((await done.outcome()).status).toBe('completed');
    expect((await (await app.sagas.start(OrderSaga, { fails: true })).outcome()).status).toBe('compensated');
    const tree = await app.sagas.start(TreeSaga, undefined);
    expect((await tree.outcome()).status).toBe('completed');
    const asked = await app.sagas.start(QuestionSaga, undefined, { correlationId: 'q-1' });
    await app.sagas.signal({ saga: 'question', correlationId: 'q-1' }, 'answer', 'yes');
    expect((await asked.outcome()).results).toEqual({ ask: 'yes' });
    await app.operations.undo({ saga: OrderSaga, correlationId: 'o-1' }, { reason: 'returned' });
    expect((await app.sagas.wait(done.id)).status).toBe('compensated');
    expect((await app.sagas.find({ saga: 'order' })).items).toHaveLength(2);
    const places = await apps.sql<{ at: string }>(
      `SELECT DISTINCT tableoid::regclass::text AS at FROM saga.instance UNION SELECT DISTINCT tableoid::regclass::text FROM saga.step
       UNION SELECT DISTINCT tableoid::regclass::text FROM saga.signal UNION SELECT DISTINCT tableoid::regclass::text FROM saga.operation ORDER BY 1`,
    );
    expect(places.map(({ at }) => at)).toEqual(
      ['instance', 'operation', 'signal', 'step'].map((table) => `saga.${table}_${dayOf(Date.now())}`),
    );
  });

  test('have partitions for the next days, made by the first process that starts', async () => {
    const started = await Promise.all([start(), start(), start()]);
    const days = Array.from({ length: 8 }, (_, n) => dayOf(Date.now() + n * DAY));
    for (const table of ['instance', 'step', 'signal', 'operation'])
      expect(await tables.of(table)).toEqual([...days, 'rest']);
    await tables.takeAway(days[7]!);
    await upkeepUntil(started[0], async () => (await tables.of()).length > days.length);
    expect(await tables.of()).toEqual([...days, 'rest']);
  });

  test('by the week have them from Mondays on', async () => {
    await start({ partitions: 'weekly' });
    const made = (await tables.of()).filter((name) => name !== 'rest');
    expect(made).toHaveLength(3);
    for (const name of made)
      expect(new Date(`${name.slice(0, 4)}-${name.slice(4, 6)}-${name.slice(6)}`).getUTCDay()).toBe(1);
  });

  test('are in the default partition if the time of their ids fits no other, and lose nothing', async () => {
    const app = await start();
    const saga = await app.sagas.start(OrderSaga, {}, { id: randomUUID(), correlationId: 'o-1' });
    expect((await saga.outcome()).status).toBe('completed');
    expect(await tables.placeOf(saga.id)).toBe('saga.instance_rest');
  });

  test('that came before their partition was made are moved into it', async () => {
    const app = await start();
    const day = dayOf(Date.now() + 7 * DAY);
    await tables.takeAway(day);
    const early = await app.sagas.start(OrderSaga, {}, { id: idOf(-7) });
    await early.outcome();
    expect(await tables.placeOf(early.id)).toBe('saga.instance_rest');
    await upkeepUntil(app, async () => (await tables.placeOf(early.id)) === `saga.instance_${day}`);
    expect(await app.sagas.get(early.id)).toMatchObject({
      status: 'completed',
      steps: [{ result: 'reserved' }],
    });
  });
});

describe('a correlation id', () => {
  test('is unique over all partitions, however many start it at the same time', async () => {
    const [one, two] = [await start(), await start()];
    await tables.make(40);
    const first = await ended(one, 40, 'o-1');
    expect(await two.sagas.start(OrderSaga, {}, { correlationId: 'o-1' })).toMatchObject({
      id: first,
      created: false,
    });
    await expect(two.sagas.start(OrderSaga, { fails: true }, { correlationId: 'o-1' })).rejects.toThrow(
      SagaConflictError,
    );
    const many = await Promise.all(
      Array.from({ length: 400 }, (_, n) =>
        [one, two][n % 2]!.sagas.start(
          OrderSaga,
          {},
          { id: idOf(n % 3 ? 40 : 0), correlationId: `m-${n % 40}` },
        ),
      ),
    );
    expect(many.filter(({ created }) => created)).toHaveLength(40);
    expect(await apps.sql(`SELECT FROM saga.instance WHERE correlation_id LIKE 'm-%'`)).toHaveLength(40);
    expect(await apps.sql(`SELECT FROM saga.correlation`)).toHaveLength(41);
  });

  test('is not taken by a start that was refused for its id, nor by one that was rolled back', async () => {
    const app = await start();
    const saga = await app.sagas.start(OrderSaga, {}, { correlationId: 'o-1' });
    await expect(
      app.sagas.start(OrderSaga, { fails: true }, { id: saga.id, correlationId: 'o-2' }),
    ).rejects.toThrow(SagaConflictError);
    await app.dataSource
      .transaction(async (manager) => {
        await app.sagas.start(OrderSaga, {}, { correlationId: 'o-3', manager });
        throw new Error('changed my mind');
      })
      .catch(() => undefined);
    expect(await apps.sql(`SELECT correlation_id, saga_id FROM saga.correlation`)).toEqual([
      { correlation_id: 'o-1', saga_id: saga.id },
    ]);
    for (const correlationId of ['o-2', 'o-3'])
      expect(await app.sagas.start(OrderSaga, {}, { correlationId })).toMatchObject({ created: true });
  });

  test('of a saga that is gone may be used again, by one', async () => {
    const [one, two] = [await start(), await start()];
    await tables.make(40);
    const first = await ended(one, 40, 'o-1');
    await apps.sql(`DELETE FROM saga.instance WHERE id = $1`, [first]);
    const again = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        [one, two][n % 2]!.sagas.start(OrderSaga, {}, { correlationId: 'o-1' }),
      ),
    );
    expect(again.filter(({ created }) => created)).toHaveLength(1);
    expect(new Set(again.map(({ id }) => id)).size).toBe(1);
  });

  test('of a saga that is being started in a transaction is waited for, and never taken for that of one that is gone', async () => {
    const app = await start();
    await apps.sql(`INSERT INTO saga.correlation VALUES ('o-1', 'order', $1)`, [randomUUID()]);
    let late!: Promise<{ id: string; created: boolean }>;
    const first = await app.dataSource.transaction(async (manager) => {
      const started = await app.sagas.start(OrderSaga, {}, { correlationId: 'o-1', manager });
      late = app.sagas.start(OrderSaga, {}, { correlationId: 'o-1' });
      const waiting = () =>
        apps.sql(
          `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`,
        );
      while ((await waiting()).length === 0);
      return started;
    });
    expect(await late).toMatchObject({ id: first.id, created: false });
  });
});

describe('the end of a partition', () => {
  test('takes all that is over its retention at once, with all that belongs to it and its correlation ids', async () => {
    const app = await start();
    const [old, young] = [await tables.make(40), await tables.make(20)];
    await ended(app, 40, 'o-1');
    const staying = await ended(app, 20, 'o-2');
    await tables.drop(app, old);
    expect(await tables.of()).toEqual(expect.arrayContaining([young]));
    for (const table of ['instance', 'step'])
      expect([table, await apps.sql(`SELECT to_regclass('saga.${table}_${old}') AS left`)]).toEqual([
        table,
        [{ left: null }],
      ]);
    expect(await apps.sql('SELECT saga_id FROM saga.correlation')).toEqual([{ saga_id: staying }]);
    expect((await app.sagas.find({})).items).toHaveLength(1);
    expect(await app.sagas.start(OrderSaga, {}, { correlationId: 'o-1' })).toMatchObject({ created: true });
    // What goes with its partition is not deleted before by rows.
    await tables.make(30);
    const last = await ended(app, 30);
    await apps.sql(
      `UPDATE saga.instance SET finished_at = now() - interval '30 days 1 second' WHERE id = $1`,
      [last],
    );
    await upkeep(app);
    expect(await app.sagas.get(last)).toMatchObject({ status: 'completed' });
  });

  test('moves what has not ended, or not long ago, to the rest, where it goes on', async () => {
    const app = await start();
    const old = await tables.make(40);
    const gone = await ended(app, 40);
    const waiting = await app.sagas.start(QuestionSaga, undefined, { id: idOf(40), correlationId: 'q-1' });
    await until(async () => (await app.sagas.get(waiting.id)).waitingFor?.kind === 'signal');
    await app.operations.pause(waiting.id, { by: 'ann' });
    await app.operations.resume(waiting.id, { by: 'ann' });
    const recent = await app.sagas.start(OrderSaga, {}, { id: idOf(40), correlationId: 'o-1' });
    await recent.outcome();
    await tables.drop(app, old);
    await expect(app.sagas.get(gone)).rejects.toMatchObject({ code: 'SAGA_NOT_FOUND' });
    for (const { id } of [waiting, recent]) expect(await tables.placeOf(id)).toBe('saga.instance_rest');
    expect(await app.operations.history(waiting.id)).toHaveLength(2);
    await app.sagas.signal({ saga: 'question', correlationId: 'q-1' }, 'answer', 'yes');
    expect(await app.sagas.wait(waiting.id)).toMatchObject({ status: 'completed', results: { ask: 'yes' } });
    expect(await app.sagas.start(OrderSaga, {}, { correlationId: 'o-1' })).toMatchObject({ created: false });
    await app.operations.undo(recent.id);
    expect(await app.sagas.wait(recent.id)).toMatchObject({ status: 'compensated' });
    // From the rest they go one by one, in their time.
    await apps.sql(`UPDATE saga.instance SET finished_at = now() - interval '33 days'`);
    await upkeep(app);
    expect(await apps.sql('SELECT FROM saga.instance')).toEqual([]);
    expect(await apps.sql('SELECT FROM saga.correlation')).toEqual([]);
  });

  test('keeps what undoing a saga needs, wherever that one is', async () => {
    const app = await start();
    const old = await tables.make(40);
    const families = await Promise.all(
      Array.from({ length: 2 }, () => app.sagas.start(TreeSaga, undefined, { id: idOf(40) })),
    );
    await Promise.all(families.map((saga) => saga.outcome()));
    // The first one's child was started on the day after; the second one's on the same day.
    const [later, same] = [idOf(39), idOf(40)];
    await tables.make(39);
    for (const [parent, child] of [
      [families[0]!.id, later],
      [families[1]!.id, same],
    ])
      await apps.sql(
        `WITH moved AS (UPDATE saga.step SET saga_id = $2 WHERE saga_id = (SELECT id FROM saga.instance WHERE parent_id = $1) RETURNING saga_id),
           parents AS (UPDATE saga.step SET progress = replace(progress::text, (SELECT id::text FROM saga.instance WHERE parent_id = $1), $2::text)::json WHERE saga_id = $1)
         UPDATE saga.instance SET id = $2, finished_at = now() - interval '39 days' WHERE parent_id = $1`,
        [parent, child],
      );
    await tables.drop(app, old);
    // The parents ended just now: they stay, and their children with them.
    expect((await app.sagas.find({})).items).toHaveLength(4);
    for (const { id } of families) {
      await app.operations.undo(id);
      expect(await app.sagas.wait(id)).toMatchObject({ status: 'compensated' });
    }
  });

  test('waits while there is too much in it that has to stay', async () => {
    const app = await start();
    const old = await tables.make(40);
    const gone = await ended(app, 40);
    await apps.sql(
      `INSERT INTO saga.instance (id, name, version, status, step, epoch, finished_at)
       SELECT (substring($1::text FOR 14) || substring(gen_random_uuid()::text FROM 15))::uuid, 'order', 1, 'completed', '', 1, now()
       FROM generate_series(1, $2::int)`,
      [idOf(40), MOST_MOVED + 1],
    );
    await upkeep(app);
    expect(await tables.of()).toContain(old);
    // What of it is long over goes nevertheless, two periods after its retention.
    await expect(app.sagas.get(gone)).rejects.toMatchObject({ code: 'SAGA_NOT_FOUND' });
  });

  test('blocks no transaction: it is postponed while a transaction uses sagas', async () => {
    const app = await start();
    const old = await tables.make(40);
    await ended(app, 40);
    const other = new pg.Client({ connectionString: apps.url });
    await other.connect();
    await other.query('BEGIN');
    await other.query('SELECT FROM saga.instance LIMIT 1');
    await upkeep(app);
    expect(await tables.of()).toContain(old);
    expect((await (await app.sagas.start(OrderSaga, {})).outcome()).status).toBe('completed');
    await other.query('COMMIT');
    await other.end();
    await tables.drop(app, old);
  });

  test('that was cut off before its correlation ids were deleted is gone on with', async () => {
    const app = await start();
    const old = await tables.make(40);
    await ended(app, 40, 'o-1');
    await apps.sql(
      `SELECT saga.partition_drop($1, saga.partition_bound($2), saga.partition_bound($3), '{order}', '{1000}', 10)`,
      [old, Math.floor((Date.now() - 40 * DAY) / DAY) * DAY, Math.floor((Date.now() - 39 * DAY) / DAY) * DAY],
    );
    expect(await apps.sql(`SELECT FROM saga.correlation`)).toHaveLength(1);
    await upkeep(app);
    expect(await apps.sql(`SELECT FROM saga.correlation`)).toEqual([]);
    expect(await apps.sql(`SELECT to_regclass('saga.instance_${old}') AS left`)).toEqual([{ left: null }]);
  });
});
