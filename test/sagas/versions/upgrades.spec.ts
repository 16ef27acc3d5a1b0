import { Logger, type Type } from '@nestjs/common';
import {
  Saga,
  type SagaModuleOptions,
  type SagaOptions,
  Step,
  type StepContext,
} from '../../../libs/saga/src/index.js';
import { Gate, until } from '../../support/gate.js';
import { journal, Journalled } from '../../support/journalled.js';
import { passTimeUntil } from '../../support/pass-time.js';
import { type TestApp, TestApps } from '../../support/test-app.js';

const apps = TestApps.onOwnDatabase();
const LATER = { delay: '1h' } as const;

@Saga({ name: 'order' })
class OrderV1 extends Journalled {
  @Step({ compensate: 'undo' }) reserve(ctx: StepContext) {
    return this.note(ctx);
  }
  @Step({ ...LATER, compensate: 'undo' }) charge(ctx: StepContext) {
    return this.note(ctx);
  }
  @Step(LATER) ship(ctx: StepContext) {
    return this.note(ctx);
  }
}

/** Orders are checked before they are charged. */
@Saga({ name: 'order', version: 2, upgradeFrom: 1 })
class OrderV2 extends Journalled {
  @Step({ compensate: 'undo' }) reserve(ctx: StepContext) {
    return this.note(ctx);
  }
  @Step() check(ctx: StepContext) {
    return this.note(ctx);
  }
  @Step({ compensate: 'undo' }) charge(ctx: StepContext) {
    return this.note(ctx);
  }
  @Step() ship(ctx: StepContext) {
    return this.note(ctx);
  }
}

const start = (sagas: Type[], options: SagaModuleOptions = {}) =>
  apps.start({ sagas, options: { worker: { pollInterval: '10ms' }, ...options } });

/** It ends, whatever it waits for. */
const ends = ({ sagas }: TestApp, id: string) =>
  passTimeUntil(apps, [id], async () => {
    const { status, finishedAt } = await sagas.get(id);
    return finishedAt && status;
  });

const standsAt = async (id: string, step: string) =>
  (await apps.sql('SELECT FROM saga.instance WHERE id = $1 AND step = $2 AND locked_by IS NULL', [id, step]))
    .length === 1;

const versionOf = async (id: string) =>
  (await apps.sql<{ version: number }>('SELECT version FROM saga.instance WHERE id = $1', [id]))[0]!.version;
const moved = (id: string) => until(async () => (await versionOf(id)) === 2);

/** What is logged as a warning from now on. */
function warnings(): string[] {
  const said: string[] = [];
  const { warn } = Logger.prototype;
  Logger.prototype.warn = (message: string) => void said.push(message);
  restore = () => (Logger.prototype.warn = warn);
  return said;
}
let restore = () => {};
afterEach(() => restore());

/** An order that is about to be charged, and one that is about to be shipped. */
async function orders(): Promise<[string, string]> {
  const { sagas, close } = await start([OrderV1]);
  const [before, after] = [(await sagas.start(OrderV1, {})).id, (await sagas.start(OrderV1, {})).id];
  for (const id of [before, after]) await until(() => standsAt(id, 'charge'));
  await passTimeUntil(apps, [after], () => standsAt(after, 'ship'), 'charge');
  await close();
  journal.length = 0;
  return [before, after];
}

describe('upgradeFrom', () => {
  test('moves an instance whose past fits the new graph, which then goes on by that', async () => {
    const [before] = await orders();
    const app = await start([OrderV2]);
    await moved(before);
    expect(await ends(app, before)).toBe('completed');
    expect(journal).toEqual(['check', 'charge', 'ship']);
    expect((await app.sagas.get(before)).steps.map(({ name }) => name)).toEqual([
      'reserve',
      'check',
      'charge',
      'ship',
    ]);
  });

  test('leaves the others on their version, logs the cause once, and reports what they wait for if no worker has it', async () => {
    const [before, after] = await orders();
    const said = warnings();
    const { sagas, close } = await start([OrderV2]);
    await moved(before);
    const reason = `step 'charge' is completed, and in version 2 it comes after 'check', which is not completed`;
    await until(() => said.length > 0);
    expect(said).toEqual([`Saga ${after} stays on order@1 and is not moved to version 2: ${reason}`]);
    const { version, waitingFor } = await passTimeUntil(apps, [after], async () => {
      const seen = await sagas.get(after);
      return seen.waitingFor?.kind === 'version' ? seen : undefined;
    });
    expect([version, waitingFor]).toEqual([
      1,
      { kind: 'version', saga: 'order', version: 1, since: expect.any(Date) },
    ]);
    await close();
    const both = await start([OrderV1, OrderV2]);
    expect(await ends(both, after)).toBe('completed');
    expect(await versionOf(after)).toBe(1);
    // The other one was checked; nothing that was done before is done again.
    expect(journal.filter((step) => step !== 'check')).toEqual(['ship']);
  });

  test('waits until a running step has ended in the old process, and moves sagas that it starts later', async () => {
    const [started, go] = [new Gate(), new Gate()];
    @Saga({ name: 'order' })
    class Slow extends OrderV1 {
      @Step({ compensate: 'undo' }) override async reserve(ctx: StepContext) {
        started.open();
        await go.opened;
        return this.note(ctx);
      }
    }
    const old = await start([Slow]);
    const { id } = await old.sagas.start(Slow, {});
    await started.opened;
    const app = await start([OrderV2]);
    const late = await old.sagas.start(Slow, {}, { delay: '1h' });
    await moved(late.id);
    expect(await app.sagas.get(id)).toMatchObject({ version: 1, lockedBy: expect.any(String) });
    go.open();
    await moved(id);
    expect(await ends(app, id)).toBe('completed');
    expect(journal).toEqual(['reserve', 'check', 'charge', 'ship']);
    expect((await app.sagas.get(late.id)).waitingFor).toMatchObject({ kind: 'delay' });
  });

  test('frees one that is suspended at a step which the new version does in another way', async () => {
    const suspends: SagaOptions = { name: 'order', onFailure: 'suspend', retry: { attempts: 1 } };
    @Saga(suspends)
    class Broken extends OrderV1 {
      @Step({ compensate: 'undo' }) override charge(): never {
        throw new Error('no such bank');
      }
    }
    @Saga({ ...suspends, version: 2, upgradeFrom: 1 })
    class Mended extends OrderV1 {
      @Step({ compensate: 'undo' }) override charge(ctx: StepContext) {
        return this.note(ctx);
      }
      @Step() override ship(ctx: StepContext) {
        return this.note(ctx);
      }
    }
    const old = await start([Broken]);
    const { id } = await old.sagas.start(Broken, {});
    expect(await old.sagas.wait(id)).toMatchObject({ status: 'suspended' });
    await old.close();
    const { sagas, operations } = await start([Mended]);
    await moved(id);
    expect(await sagas.get(id)).toMatchObject({ status: 'suspended', waitingFor: { steps: ['charge'] } });
    await operations.retry(id);
    expect(await sagas.wait(id)).toMatchObject({ status: 'completed' });
  });

  test('moves those as well that kept an older graph of their version', async () => {
    const [before] = await orders();
    @Saga({ name: 'order' })
    class Changed extends Journalled {
      @Step() other(ctx: StepContext) {
        return this.note(ctx);
      }
    }
    await (await start([Changed], { worker: false, onDrift: 'warn' })).close();
    const app = await start([OrderV2]);
    await moved(before);
    expect(await ends(app, before)).toBe('completed');
    expect(journal).toEqual(['check', 'charge', 'ship']);
  });

  test('moves a long backlog, and leaves it to processes that run sagas', async () => {
    const web = await start([OrderV1], { worker: false });
    await Promise.all(Array.from({ length: 230 }, () => web.sagas.start(OrderV1, {}, { delay: '1h' })));
    await web.close();
    await start([OrderV2], { worker: false });
    const count = async (version: number) =>
      (await apps.sql('SELECT FROM saga.instance WHERE version = $1', [version])).length;
    expect(await count(1)).toBe(230);
    await start([OrderV2]);
    await until(async () => (await count(2)) === 230);
  });

  test('never moves one twice, or back, however many processes move at once', async () => {
    const web = await start([OrderV1], { worker: false });
    for (let n = 0; n < 20; n += 1) await web.sagas.start(OrderV1, {}, { delay: '1h' });
    await web.close();
    await Promise.all(Array.from({ length: 4 }, () => start([OrderV1, OrderV2])));
    await until(async () => (await apps.sql('SELECT FROM saga.instance WHERE version = 1')).length === 0);
    expect(await apps.sql('SELECT DISTINCT version, epoch FROM saga.instance')).toEqual([
      { version: 2, epoch: 1 },
    ]);
  });
});
