import type { Type } from '@nestjs/common';
import {
  Saga,
  SagaDriftError,
  type SagaModuleOptions,
  Step,
  type StepContext,
} from '../../../libs/saga/src/index.js';
import { describeSaga } from '../../../libs/saga/src/diagram.js';
import { until } from '../../support/gate.js';
import { journal, Journalled } from '../../support/journalled.js';
import { sagaHereOn } from '../../cli/support/saga-here.js';
import { passTimeUntil } from '../../support/pass-time.js';
import { type TestApp, TestApps } from '../../support/test-app.js';

const apps = TestApps.onOwnDatabase();
const LATER = { delay: '1h' } as const;

@Saga({ name: 'order', retry: { attempts: 1 }, compensationRetry: { attempts: 1 } })
class Order extends Journalled {
  @Step({ compensate: 'undo' }) reserve(ctx: StepContext) {
    return this.note(ctx);
  }
  @Step({ ...LATER, compensate: 'refund' }) charge(ctx: StepContext) {
    return this.note(ctx);
  }
  async refund() {
    journal.push('refund');
  }
  @Step(LATER) ship(ctx: StepContext) {
    return this.note(ctx);
  }
}

/** The same saga after a step was renamed. */
@Saga({ name: 'order', retry: { attempts: 1 }, compensationRetry: { attempts: 1 } })
class Renamed extends Journalled {
  @Step({ compensate: 'undo' }) reserve(ctx: StepContext) {
    return this.note(ctx);
  }
  @Step({ compensate: 'refund' }) pay(ctx: StepContext) {
    return this.note(ctx);
  }
  async refund() {
    journal.push('refund');
  }
  @Step() ship(ctx: StepContext<{ lost?: boolean }>) {
    this.note(ctx);
    if (ctx.input.lost) throw new Error('lost on the way');
  }
}

const warned = { onDrift: 'warn' } as const;
const start = (saga: Type, options: SagaModuleOptions = {}) =>
  apps.start({ sagas: [saga], options: { worker: { pollInterval: '10ms' }, ...options } });
const failing = (saga: Type, options: SagaModuleOptions = {}) =>
  start(saga, options).then(
    () => undefined,
    (error: unknown) => error,
  );

const standAt = async (ids: readonly string[], step: string) =>
  (
    await apps.sql('SELECT FROM saga.instance WHERE id = ANY($1) AND step = $2 AND locked_by IS NULL', [
      ids,
      step,
    ])
  ).length === ids.length;

/** Waits until they end or need an operator, and opens all that they wait for. */
const settle = ({ sagas }: TestApp, ids: readonly string[]) =>
  passTimeUntil(apps, ids, async () => {
    const seen = await Promise.all(ids.map((id) => sagas.get(id)));
    const settled = seen.every(({ status, finishedAt }) => finishedAt || status === 'stuck');
    return settled ? Promise.all(ids.map((id) => sagas.wait(id))) : undefined;
  });

/** Three orders before they are charged, and two after. */
async function orders(): Promise<{ before: string[]; after: string[] }> {
  const { sagas, close } = await start(Order);
  const ids: string[] = [];
  for (let n = 0; n < 5; n += 1) ids.push((await sagas.start(Order, { lost: n === 4 })).id);
  await until(() => standAt(ids, 'charge'));
  const [before, after] = [ids.slice(0, 3), ids.slice(3)];
  await passTimeUntil(apps, after, () => standAt(after, 'ship'), 'charge');
  await close();
  journal.length = 0;
  return { before, after };
}

const revisions = () =>
  apps.sql(
    `SELECT name, version, revision, json_array_length(graph->'steps') AS steps FROM saga.graph ORDER BY revision`,
  );
const keptRevisions = async () =>
  (await apps.sql<{ r: number | null }>('SELECT DISTINCT graph_revision AS r FROM saga.instance')).map(
    ({ r }) => r,
  );

describe('the graph of a saga', () => {
  test('is stored once, by however many processes start at this moment', async () => {
    await Promise.all(Array.from({ length: 10 }, (_, n) => start(Order, { worker: n < 5 ? {} : false })));
    expect(await revisions()).toEqual([{ name: 'order', version: 1, revision: 1, steps: 3 }]);
  });

  test('is stored by a process that runs no sagas, too', async () => {
    await start(Order, { worker: false });
    expect(await revisions()).toHaveLength(1);
  });

  test('may change freely while no instance is running', async () => {
    const first = await start(Renamed);
    await (await first.sagas.start(Renamed, {})).outcome();
    await first.close();
    await start(Order);
    expect((await revisions()).map(({ revision }) => revision)).toEqual([1, 2]);
    expect(await keptRevisions()).toEqual([null]);
  });

  test('is the same whatever the code does to retries, times and limits', async () => {
    const first = await start(Order, { worker: false });
    await first.sagas.start(Order, {});
    await first.close();
    @Saga({ name: 'order', timeout: '1d', onFailure: 'suspend' })
    class Patient extends Order {
      @Step({
        compensate: 'refund',
        retry: { attempts: 9 },
        timeout: '1s',
        rateLimit: { count: 1, per: '1s' },
      })
      override charge(ctx: StepContext) {
        return super.charge(ctx);
      }
    }
    await start(Patient, { worker: false });
    expect(await revisions()).toHaveLength(1);
    const [row] = await apps.sql(`SELECT graph->'about' AS about FROM saga.graph`);
    expect(row!.about).toEqual(describeSaga(Patient));
  });
});

describe('a step that is renamed with three instances before it and two after', () => {
  test('stops the application: the error names the differences, whom they matter to, and the fixes', async () => {
    const { before } = await orders();
    const error = (await failing(Renamed)) as SagaDriftError;
    expect(error).toBeInstanceOf(SagaDriftError);
    expect(error.code).toBe('SAGA_DRIFT');
    for (const part of [
      'order@1',
      "step 'charge' was removed",
      "step 'pay' is new",
      "'charge' may have been renamed to 'pay'",
      'Running instances: 5, 3 affected, 2 not',
      "step 'charge' is not completed yet, and was removed",
      'Raise its version',
      "onDrift: 'warn'",
    ])
      expect(error.message).toContain(part);
    expect(before.some((id) => error.message.includes(id))).toBe(true);
    expect(await revisions()).toHaveLength(1);
    expect(await keptRevisions()).toEqual([null]);
  });

  test('with onDrift warn, lets the two go on under the graph that they started with, forward and back', async () => {
    const { after } = await orders();
    const app = await start(Renamed, warned);
    expect(await keptRevisions()).toEqual([1]);
    expect((await revisions()).map(({ revision }) => revision)).toEqual([1, 2]);
    const [shipped, lost] = await settle(app, after);
    expect(shipped).toMatchObject({ status: 'completed' });
    expect(lost).toMatchObject({ status: 'compensated', failure: { error: { message: 'lost on the way' } } });
    // No customer pays twice, and a refund that is due is made.
    expect(journal.filter((entry) => entry !== 'ship')).toEqual(['refund', 'undo reserve']);
    const steps = (await app.sagas.get(after[0]!)).steps.map(({ name, status }) => `${name} ${status}`);
    expect(steps).toEqual(['reserve completed', 'charge completed', 'ship completed']);
  });

  test('with onDrift warn, stops the three before anything of them is run, until the code has what they need', async () => {
    const { before } = await orders();
    const renamed = await start(Renamed, warned);
    for (const { status, failure } of await settle(renamed, before)) {
      expect(status).toBe('stuck');
      expect(failure).toMatchObject({ step: 'charge', error: { code: 'SAGA_DRIFT' } });
      expect(failure!.error!.message).toContain("step 'charge' is not completed yet, and was removed");
      expect(failure!.error!.message).toContain(
        'Deploy the missing steps and compensations and retry the saga, or abort it',
      );
    }
    expect(journal).toEqual([]);
    const [first, second, third] = before as [string, string, string];
    expect((await renamed.sagas.get(first)).waitingFor).toEqual({ kind: 'person', steps: ['charge'] });
    // Asking again changes nothing as long as the code does not have it; the rollback does not need it.
    await renamed.operations.retry(first);
    await until(async () => (await renamed.sagas.get(first)).status === 'stuck');
    expect((await renamed.operations.previewRollback(third)).compensations).toMatchObject([
      { step: 'reserve' },
    ]);
    await renamed.sagas.cancel(third);
    expect(await renamed.sagas.wait(third)).toMatchObject({ status: 'compensated' });
    expect(journal).toEqual(['undo reserve']);
    await renamed.close();

    const again = await start(Order, warned);
    for (const id of [first, second]) await again.operations.retry(id);
    for (const outcome of await settle(again, [first, second]))
      expect(outcome).toEqual({ id: outcome.id, status: 'completed', results: expect.anything() });
    expect(journal.slice(1).sort()).toEqual(['charge', 'charge', 'ship', 'ship']);
  });

  test('with onDrift warn, leaves those that start from now on to the new graph', async () => {
    await orders();
    const { sagas } = await start(Renamed, warned);
    const { id } = await sagas.start(Renamed, {});
    expect(await sagas.wait(id)).toMatchObject({ status: 'completed' });
    expect(journal).toEqual(['reserve', 'pay', 'ship']);
    // The same code again is no drift.
    await start(Renamed);
    expect(await revisions()).toHaveLength(2);
  });
});

describe('an instance whose compensation is gone', () => {
  @Saga({ name: 'order' })
  class Unforgiving extends Journalled {
    @Step({ compensate: 'undo' }) reserve(ctx: StepContext) {
      return this.note(ctx);
    }
    @Step({ compensate: 'undo' }) charge(ctx: StepContext) {
      return this.note(ctx);
    }
    @Step() ship(ctx: StepContext) {
      return this.note(ctx);
    }
  }

  test('is affected at every step while it can roll back', async () => {
    await orders();
    const error = (await failing(Unforgiving)) as SagaDriftError;
    expect(error.message).toContain("step 'charge' has the compensation 'undo' instead of 'refund'");
    expect(error.message).toContain('5 affected, 0 not');
    expect(error.message).toContain(
      "step 'charge' is completed, and has the compensation 'refund', and this method was removed",
    );
  });

  test('is stuck rather than partially compensated, and keeps the cause of its rollback', async () => {
    const { after } = await orders();
    const app = await start(Unforgiving, warned);
    const { sagas } = app;
    expect(await settle(app, after)).toMatchObject([{ status: 'stuck' }, { status: 'stuck' }]);
    await sagas.cancel(after[0]!, { reason: 'enough' });
    await until(async () => (await sagas.get(after[0]!)).status === 'stuck');
    const { failure, steps } = await sagas.get(after[0]!);
    expect(failure).toMatchObject({ kind: 'cancelled', reason: 'enough' });
    expect(steps.find(({ name }) => name === 'charge')!.errors.at(-1)).toMatchObject({ code: 'SAGA_DRIFT' });
    expect(journal).toEqual([]);
  });
});

describe('a release that is rolled back', () => {
  afterEach(() => delete process.env.SAGA_ON_DRIFT);

  test('starts while no running instance needs what its code does not have', async () => {
    await orders();
    await apps.sql("DELETE FROM saga.instance WHERE step = 'charge'");
    const { sagas } = await start(Renamed);
    expect((await sagas.find({ status: 'running' })).items).toHaveLength(2);
    expect(await keptRevisions()).toEqual([1]);
  });

  test('runs instances that nothing has begun of by its own graph, whichever process has started them', async () => {
    const old = await start(Order, { worker: false });
    const { id } = await old.sagas.start(Order, {});
    await old.close();
    const released = await start(Renamed, { worker: false });
    const second = await released.sagas.start(Renamed, {});
    await released.close();
    expect(await keptRevisions()).toEqual([null]);
    const app = await start(Order);
    for (const outcome of await settle(app, [id, second.id]))
      expect(outcome).toMatchObject({ status: 'completed' });
    expect(journal.toSorted()).toEqual(['charge', 'charge', 'reserve', 'reserve', 'ship', 'ship']);
  });

  test('starts if the environment says so, whatever its code says', async () => {
    await orders();
    process.env.SAGA_ON_DRIFT = 'error';
    expect(await failing(Renamed, warned)).toBeInstanceOf(SagaDriftError);
    process.env.SAGA_ON_DRIFT = 'warn';
    await start(Renamed, { onDrift: 'error' });
    process.env.SAGA_ON_DRIFT = 'ignore';
    expect(await failing(Order)).toMatchObject({
      message: expect.stringContaining("SAGA_ON_DRIFT is 'ignore'; give 'error' or 'warn'"),
    });
  });

  test('starts once an operator has accepted the change, and another change has to be accepted again', async () => {
    await orders();
    const refusal = (await failing(Renamed)) as SagaDriftError;
    expect(refusal.message).toContain("run 'saga graph accept order@1', set SAGA_ON_DRIFT=warn");
    const accept = (target: string) => sagaHereOn(apps)('graph accept', target);
    expect(await accept('order@1')).toMatchObject({
      ...{ code: 0, out: 'The next change of the graph of order@1 is accepted\n' },
    });
    expect([(await accept('order@2')).code, (await accept('order')).code]).toEqual([1, 2]);
    await start(Renamed, { worker: false });
    @Saga({ name: 'order' })
    class Emptied {
      @Step() nothing() {}
    }
    expect(await failing(Emptied)).toBeInstanceOf(SagaDriftError);
  });
});

test('onDrift that is no such thing is refused, with what there is', () => {
  const wrong = { onDrift: 'ignore' } as never;
  return expect(failing(Order, wrong)).resolves.toMatchObject({
    code: 'SAGA_CONFIGURATION',
    message: expect.stringContaining("onDrift is 'ignore'; give 'error' or 'warn'"),
  });
});
