import { randomUUID } from 'node:crypto';
import { databaseParts } from '../../support/database-parts.js';
import { SchedulerRegistry } from '@nestjs/schedule';
import pg from 'pg';
import {
  Approval,
  type CompensationContext,
  Saga,
  type SagaModuleOptions,
  SagaNotFoundError,
  SagaValidationError,
  Step,
  type StepContext,
  StepRejectedError,
  SubSaga,
  WaitFor,
} from '../../../libs/saga/src/index.js';
import { SAGA_CLEANUP_INTERVAL } from '../../../libs/saga/src/operators.js';
import { finishedIndexSql } from '../../../libs/saga/src/store/postgres/schema/finished-index.sql.js';
import { until } from '../../support/gate.js';
import { TestApps } from '../../support/test-app.js';

const apps = TestApps.onOwnDatabase();

@Saga({ name: 'order' })
class OrderSaga {
  @Step({ compensate: 'undo' }) reserve(ctx: StepContext<{ fails?: boolean }>) {
    if (ctx.input.fails) throw new StepRejectedError('no');
    return 'reserved';
  }
  async undo(_ctx: CompensationContext) {}
  @Step() ship() {}
}

@Saga({ name: 'question' })
class QuestionSaga {
  @WaitFor({ signal: 'answer' }) ask(_ctx: StepContext, answer: string) {
    return answer;
  }
}

@Saga({ name: 'leaf' })
class LeafSaga {
  @Step() do() {}
}
@Saga({ name: 'branch' })
class BranchSaga {
  @SubSaga(() => LeafSaga) leaf() {}
}
@Saga({ name: 'tree' })
class TreeSaga {
  @SubSaga(() => BranchSaga) branch() {}
  @Approval() end() {}
}

const SAGAS = [OrderSaga, QuestionSaga, LeafSaga, BranchSaga, TreeSaga];
const start = (options: SagaModuleOptions = {}) => apps.start({ sagas: SAGAS, options });
type App = Awaited<ReturnType<typeof start>>;

/** They ended so many days longer ago. */
const age = (ids: readonly string[], days: number) =>
  apps.sql(`UPDATE saga.instance SET finished_at = finished_at - $2 * interval '1 day' WHERE id = ANY($1)`, [
    ids,
    days,
  ]);
const left = async (table = 'instance', column = 'id') =>
  (await apps.sql<{ id: string }>(`SELECT DISTINCT ${column} AS id FROM saga.${table}`))
    .map(({ id }) => id)
    .sort();

async function ended(app: App, input: { fails?: boolean } = {}, correlationId?: string): Promise<string> {
  const saga = await app.sagas.start(OrderSaga, input, { correlationId });
  await saga.outcome();
  return saga.id;
}

/** A saga of three generations, of which all but the first have ended. */
async function tree(app: App): Promise<string[]> {
  const { id } = await app.sagas.start(TreeSaga, undefined);
  await until(async () => (await app.sagas.get(id)).waitingFor?.kind === 'approval');
  const rows = await apps.sql<{ id: string }>(
    `WITH RECURSIVE f AS (SELECT $1::uuid AS id UNION ALL SELECT i.id FROM f JOIN saga.instance i ON i.parent_id = f.id)
     SELECT id FROM f`,
    [id],
  );
  expect(rows).toHaveLength(3);
  return rows.map((row) => row.id);
}

/** Made by SQL, as if they had ended so many days ago. */
const filled = (count: number, days: number, name = 'order') =>
  apps.sql(
    `WITH made AS (
       INSERT INTO saga.instance (id, name, version, status, step, epoch, finished_at)
       SELECT gen_random_uuid(), $3, 1, 'completed', '', 1, now() - $2 * interval '1 day'
       FROM generate_series(1, $1::int) RETURNING id)
     INSERT INTO saga.step (saga_id, name, status) SELECT id, 'reserve', 'completed' FROM made`,
    [count, days, name],
  );

describe('cleanup', () => {
  test('deletes what has ended long ago, whatever it came to, and nothing else', async () => {
    const app = await start();
    const [completed, compensated] = [await ended(app), await ended(app, { fails: true })];
    const asked = await app.sagas.start(QuestionSaga, undefined);
    await app.operations.abort(asked.id, { reason: 'asked too late' });
    const old = [completed, compensated, asked.id];
    const young = await ended(app);
    const waiting = await app.sagas.start(QuestionSaga, undefined);
    const paused = await app.sagas.start(QuestionSaga, undefined);
    await app.operations.pause(paused.id);
    await age(old, 31);
    await apps.sql(`UPDATE saga.instance SET created_at = created_at - interval '1 year'`);
    expect(await app.operations.cleanup({ olderThan: '30d', dryRun: true })).toEqual({
      deleted: 3,
      more: false,
    });
    expect(await left()).toHaveLength(6);
    expect(await app.operations.cleanup({ olderThan: '30d' })).toEqual({ deleted: 3, more: false });
    expect(await left()).toEqual([young, waiting.id, paused.id].sort());
    for (const id of old) await expect(app.sagas.get(id)).rejects.toThrow(SagaNotFoundError);
    expect(await app.operations.cleanup({ olderThan: '30d' })).toEqual({ deleted: 0, more: false });
    await app.sagas.signal(waiting.id, 'answer', 'yes');
    expect(await app.sagas.wait(waiting.id)).toMatchObject({ status: 'completed' });
  });

  test('deletes all that belongs to a saga with it, and nothing of others', async () => {
    const app = await start();
    const questions = [
      await app.sagas.start(QuestionSaga, undefined),
      await app.sagas.start(QuestionSaga, undefined),
    ];
    for (const { id } of questions) {
      await until(async () => (await app.sagas.get(id)).waitingFor?.kind === 'signal');
      await app.operations.pause(id, { by: 'ann' });
      await app.operations.resume(id, { by: 'ann' });
      await app.sagas.signal(id, 'answer', 'yes');
      await app.sagas.wait(id);
    }
    const [old, young] = questions.map(({ id }) => id) as [string, string];
    await age([old], 31);
    for (const table of ['step', 'signal', 'operation'])
      expect([table, await left(table, 'saga_id')]).toEqual([table, [old, young].sort()]);
    await app.operations.cleanup({ olderThan: '30d' });
    for (const table of ['step', 'signal', 'operation'])
      expect([table, await left(table, 'saga_id')]).toEqual([table, [young]]);
  });

  test('lets the correlation ids of what is gone be used again', async () => {
    const app = await start();
    const first = await ended(app, {}, 'o-1');
    await age([first], 31);
    await app.operations.cleanup({ olderThan: '30d' });
    const again = await app.sagas.start(OrderSaga, { fails: true }, { correlationId: 'o-1' });
    expect(again).toMatchObject({ created: true });
    expect((await again.outcome()).status).toBe('compensated');
  });

  test('deletes no more than its limit, the oldest first, and says whether there is more', async () => {
    const app = await start();
    await filled(1_500, 40);
    await filled(1_000, 60);
    const counts = async () => {
      const [row] = await apps.sql(
        `SELECT count(*) FILTER (WHERE finished_at < now() - interval '50 days')::int AS oldest, count(*)::int AS all,
         (SELECT count(*)::int FROM saga.step) AS steps FROM saga.instance`,
      );
      return row;
    };
    const options = { olderThan: '30d', saga: OrderSaga, limit: 600 } as const;
    expect(await app.operations.cleanup({ ...options, dryRun: true })).toEqual({ deleted: 600, more: true });
    expect(await app.operations.cleanup(options)).toEqual({ deleted: 600, more: true });
    expect(await counts()).toEqual({ oldest: 400, all: 1_900, steps: 1_900 });
    expect(await app.operations.cleanup({ ...options, limit: 1_900 })).toEqual({
      deleted: 1_900,
      more: false,
    });
    expect(await counts()).toEqual({ oldest: 0, all: 0, steps: 0 });
  });

  test('is for one saga, by its class or its name, or for all over the schema', async () => {
    const app = await start();
    await filled(2, 40, 'order');
    await filled(3, 40, 'question');
    expect(await app.operations.cleanup({ olderThan: '1d', saga: 'question', dryRun: true })).toMatchObject({
      deleted: 3,
    });
    expect(await app.operations.cleanup({ olderThan: '1d', saga: OrderSaga })).toMatchObject({ deleted: 2 });
    // Also by an application that has none of them.
    const other = await apps.start();
    expect(await other.operations.cleanup({ olderThan: '1d' })).toMatchObject({ deleted: 3 });
  });

  test.each([
    [{ olderThan: 'soon' }, "cleanup(): olderThan: 'soon' is not a duration"],
    [{ olderThan: '1d', limit: 0 }, 'limit is 0; give a whole number'],
    [{ olderThan: '1d', dryRun: 'yes' }, "dryRun is 'yes'; give true or false"],
    [{ saga: 'order' }, "the saga 'order' has no retention; give olderThan"],
    [{}, 'no saga of this application has a retention; give olderThan'],
    [{ olderThan: '1d', saga: 'a\0' }, 'give a class, or'],
  ])('refuses %p', async (options: object, problem) => {
    const app = await start({ worker: false });
    const cleanup = app.operations.cleanup(options);
    await expect(cleanup).rejects.toThrow(SagaValidationError);
    await expect(cleanup).rejects.toThrow(problem);
  });
});

describe('a saga that another started', () => {
  test('exists for as long as that saga does, and is deleted with it', async () => {
    const app = await start({ retention: '30d' });
    const [going, staying] = [await tree(app), await tree(app)];
    const own = await ended(app);
    await age([...going, ...staying, own], 31);
    expect(await app.operations.cleanup()).toEqual({ deleted: 1, more: false });
    for (const [id] of [going, staying]) await app.sagas.approve(id!, 'end', { by: 'ann' });
    for (const [id] of [going, staying]) await app.sagas.wait(id!);
    // Both have ended; what they started ended long before.
    expect(await app.operations.cleanup()).toEqual({ deleted: 0, more: false });
    await age([going[0]!], 31);
    expect(await app.operations.cleanup({ dryRun: true })).toEqual({ deleted: 3, more: false });
    expect(await app.operations.cleanup()).toEqual({ deleted: 3, more: false });
    expect(await left()).toEqual([...staying].sort());
    // All of it is there that undoing needs.
    await app.operations.undo(staying[0]!);
    expect(await app.sagas.wait(staying[0]!)).toMatchObject({ status: 'compensated' });
  });

  test('keeps its family until it has ended', async () => {
    const app = await start({ retention: '30d' });
    const [kept, gone] = [await tree(app), await tree(app)];
    for (const [id] of [kept, gone]) await app.operations.abort(id!);
    await age([...kept, ...gone], 31);
    await apps.sql('UPDATE saga.instance SET finished_at = NULL WHERE id = $1', [kept[2]]);
    expect(await app.operations.cleanup({ dryRun: true })).toEqual({ deleted: 3, more: false });
    expect(await app.operations.cleanup()).toEqual({ deleted: 3, more: false });
    expect(await left()).toEqual([...kept].sort());
  });
});

describe('no call waits', () => {
  let other: pg.Client;
  beforeEach(async () => {
    other = new pg.Client({ connectionString: apps.url });
    await other.connect();
    await other.query(finishedIndexSql('saga', ''));
    await other.query('BEGIN');
  });
  afterEach(() => other.end());

  test('for a running deletion: sagas start, run, receive signals and can be read as usual', async () => {
    const app = await start();
    const kept = await app.sagas.start(QuestionSaga, undefined);
    await filled(500, 40);
    const { rows } = await other.query(
      `SELECT gone FROM saga.cleanup('order', 0, '-infinity', '00000000-0000-0000-0000-000000000000', 1000, false, true)`,
    );
    expect(rows).toEqual([{ gone: 500 }]);
    // Not committed: all its locks are held.
    await Promise.all(Array.from({ length: 50 }, (_, n) => ended(app, { fails: n % 2 === 0 }, `o-${n}`)));
    await app.sagas.signal(kept.id, 'answer', 'yes');
    expect(await app.sagas.wait(kept.id)).toMatchObject({ status: 'completed' });
    expect((await app.sagas.find({ limit: 1_000 })).items).toHaveLength(551);
    // Nor does another deletion wait: it takes what that one does not have.
    expect(await app.operations.cleanup({ olderThan: 0 })).toEqual({ deleted: 51, more: false });
    await other.query('ROLLBACK');
    expect(await app.operations.cleanup({ olderThan: 0 })).toEqual({ deleted: 500, more: false });
  });

  test('for a saga that is locked: it is deleted later, together with its family', async () => {
    const app = await start();
    const family = await tree(app);
    await app.operations.abort(family[0]!);
    const [held, free] = [await ended(app), await ended(app)];
    await age([...family, held, free], 31);
    await other.query('SELECT FROM saga.instance WHERE id = ANY($1) FOR UPDATE', [[held, family[2]]]);
    expect(await app.operations.cleanup({ olderThan: '30d' })).toEqual({ deleted: 1, more: false });
    expect(await left()).toEqual([held, ...family].sort());
    await other.query('ROLLBACK');
    expect(await app.operations.cleanup({ olderThan: '30d' })).toEqual({ deleted: 4, more: false });
  });

  test('and a saga that is being undone at this moment stays', async () => {
    const app = await start();
    const id = await ended(app);
    await age([id], 31);
    await other.query(`UPDATE saga.instance SET status = 'compensating', finished_at = NULL WHERE id = $1`, [
      id,
    ]);
    expect(await app.operations.cleanup({ olderThan: '30d' })).toMatchObject({ deleted: 0 });
    await other.query('COMMIT');
    expect(await app.operations.cleanup({ olderThan: '30d' })).toMatchObject({ deleted: 0 });
    expect(await left()).toEqual([id]);
  });
});

describe('a retention', () => {
  @Saga({ name: 'kept', retention: false })
  class KeptSaga {
    @Step() do() {}
  }
  @Saga({ name: 'short', retention: '1d' })
  class ShortSaga {
    @Step() do() {}
  }
  @Saga({ name: 'long', version: 1, retention: '1d' })
  class LongSagaV1 {
    @Step() do() {}
  }
  @Saga({ name: 'long', version: 2, retention: '90d' })
  class LongSaga {
    @Step() do() {}
  }
  const sagas = [KeptSaga, ShortSaga, LongSagaV1, LongSaga, OrderSaga];
  const namesLeft = async () =>
    (await apps.sql<{ name: string }>('SELECT name FROM saga.instance ORDER BY 1')).map(({ name }) => name);
  const interval = (app: App) =>
    app.nest.get(SchedulerRegistry, { strict: false }).getIntervals().includes(SAGA_CLEANUP_INTERVAL);

  test('is the saga’s own, of its highest version, or else the module’s', async () => {
    const app = await apps.start({ sagas, options: { retention: '30d' } });
    for (const name of ['kept', 'short', 'long', 'order']) await filled(1, 60, name);
    await filled(1, 10, 'short');
    await filled(1, 10, 'order');
    expect(await app.operations.cleanup({ dryRun: true })).toEqual({ deleted: 3, more: false });
    expect(await app.operations.cleanup({ saga: ShortSaga })).toEqual({ deleted: 2, more: false });
    expect(await app.operations.cleanup()).toEqual({ deleted: 1, more: false });
    expect(await namesLeft()).toEqual(['kept', 'long', 'order']);
    await expect(app.operations.cleanup({ saga: KeptSaga })).rejects.toThrow(
      "the saga 'kept' has no retention",
    );
  });

  test('without one nothing is ever deleted, nor looked for', async () => {
    const registry = { provide: SchedulerRegistry, useClass: SchedulerRegistry };
    const app = await apps.start({ sagas: [KeptSaga, OrderSaga], providers: [registry] });
    expect(interval(app)).toBe(false);
    await filled(1, 4_000);
    await (await databaseParts(app.nest)).cleanup.tick();
    expect(await namesLeft()).toEqual(['order']);
  });

  test('is seen to by the workers, on a schedule that can be seen', async () => {
    const registry = { provide: SchedulerRegistry, useClass: SchedulerRegistry };
    const web = await apps.start({ sagas, providers: [registry], options: { worker: false } });
    expect(interval(web)).toBe(false);
    await filled(2_500, 2, 'short');
    const app = await apps.start({ sagas, providers: [registry] });
    expect(interval(app)).toBe(true);
    await (await databaseParts(app.nest)).cleanup.tick();
    expect(await namesLeft()).toEqual([]);
    await app.close();
    const quick = await apps.start({ sagas: [OrderSaga], options: { retention: '1s' } });
    await ended(quick);
    await until(async () => (await left()).length === 0);
  });

  test('is seen to by one process at a time', async () => {
    const app = await apps.start({ sagas });
    await filled(10, 2, 'short');
    const other = new pg.Client({ connectionString: apps.url });
    await other.connect();
    await other.query('BEGIN');
    // A batch of nothing has the turn, until it is committed.
    await other.query(
      `SELECT * FROM saga.cleanup('none', 0, '-infinity', '00000000-0000-0000-0000-000000000000', 1, false, true)`,
    );
    const { cleanup } = await databaseParts(app.nest);
    await cleanup.tick();
    expect(await left()).toHaveLength(10);
    await other.query('COMMIT');
    await other.end();
    await cleanup.tick();
    expect(await left()).toEqual([]);
  });

  test('that is no duration stops the application', async () => {
    @Saga({ retention: '10 minutes' as never })
    class WrongSaga {
      @Step() do() {}
    }
    @Saga({ retention: 0 })
    class NoneSaga {
      @Step() do() {}
    }
    const wrong = apps.start({ sagas: [WrongSaga, NoneSaga] });
    await expect(wrong).rejects.toThrow(/@Saga retention: '10 minutes' is not a duration/);
    await expect(wrong).rejects.toThrow(/@Saga retention 0 would delete every saga/);
    await expect(apps.start({ options: { retention: 'x' as never } })).rejects.toThrow(
      /retention: 'x' is not a duration/,
    );
    await expect(apps.start({ options: { retention: 0 } })).rejects.toThrow(
      /retention 0 would delete every saga/,
    );
  });
});

test('ids need not contain a time', async () => {
  const app = await start();
  const saga = await app.sagas.start(OrderSaga, {}, { id: randomUUID() });
  await saga.outcome();
  await age([saga.id], 31);
  expect(await app.operations.cleanup({ olderThan: '30d' })).toMatchObject({ deleted: 1 });
});
