import { randomUUID } from 'node:crypto';
import {
  type CompensationContext,
  Saga,
  SagaConflictError,
  type SagaModuleOptions,
  SagaPayloadError,
  SagaValidationError,
  Step,
  type StepContext,
} from '../../../libs/saga/src/index.js';
import { Gate, pause, until } from '../../support/gate.js';
import { TestApps } from '../../support/test-app.js';

const apps = TestApps.onOwnDatabase();
const NO_WORKER: SagaModuleOptions = { worker: false };
const count = async () => Number((await apps.sql('SELECT count(*) FROM saga.instance'))[0]!.count);

@Saga({ name: 'order' })
class Order {
  static ran: string[] = [];
  @Step() reserve({ correlationId }: StepContext<unknown>) {
    Order.ran.push(correlationId);
    return 'reserved';
  }
}
beforeEach(() => {
  Order.ran = [];
});

describe('a correlation id', () => {
  test('names one saga, however often it is started', async () => {
    const { sagas } = await apps.start({ sagas: [Order] });
    const first = await sagas.start(Order, { sku: 'a' }, { correlationId: 'order-1' });
    expect(await first.outcome()).toMatchObject({ status: 'completed' });
    const again = await sagas.start(Order, { sku: 'a' }, { correlationId: 'order-1' });
    expect([first.created, again.created, again.id]).toEqual([true, false, first.id]);
    expect(await again.outcome()).toMatchObject({ results: { reserve: 'reserved' } });
    expect(Order.ran).toEqual(['order-1']);
    expect(await sagas.get({ saga: 'order', correlationId: 'order-1' })).toMatchObject({ id: first.id });
  });

  test('names one saga for two processes that start it fifty times each at once', async () => {
    const [one, two] = [await apps.start({ sagas: [Order] }), await apps.start({ sagas: [Order] })];
    const start = (n: number) =>
      [one, two].flatMap(({ sagas }) =>
        Array.from({ length: 5 }, () => sagas.start(Order, { n }, { correlationId: `order-${n}` })),
      );
    const groups = await Promise.all(Array.from({ length: 10 }, (_, n) => Promise.all(start(n))));
    for (const handles of groups) {
      expect(handles.filter(({ created }) => created)).toHaveLength(1);
      expect(new Set(handles.map(({ id }) => id)).size).toBe(1);
    }
    await Promise.all(groups.map(([handle]) => handle!.outcome()));
    expect([...Order.ran].sort()).toEqual(groups.map((_, n) => `order-${n}`).sort());
    expect(await count()).toBe(10);
  });

  test('with another input is a conflict that names the saga that is there', async () => {
    const { sagas } = await apps.start({ sagas: [Order], options: NO_WORKER });
    const { id } = await sagas.start(Order, { sku: 'a' }, { correlationId: 'order-1' });
    const conflict = sagas.start(Order, { sku: 'b' }, { correlationId: 'order-1' });
    await expect(conflict).rejects.toThrow(SagaConflictError);
    await expect(conflict).rejects.toMatchObject({ code: 'SAGA_CONFLICT', sagaId: id });
    await expect(sagas.start(Order, undefined, { correlationId: 'order-1' })).rejects.toThrow(
      SagaConflictError,
    );
  });

  test('does not care for the order of the input’s keys', async () => {
    const { sagas } = await apps.start({ sagas: [Order], options: NO_WORKER });
    const at = new Date();
    const { id } = await sagas.start(
      Order,
      { a: { x: 1, y: [1, { p: 1, q: at }] }, b: 2 },
      { correlationId: '1' },
    );
    const same = { b: 2, a: { y: [1, { q: at.toISOString(), p: 1 }], x: 1 }, c: undefined };
    expect(await sagas.start(Order, same, { correlationId: '1' })).toMatchObject({ id, created: false });
    const other = { a: { x: 1, y: [{ p: 1, q: at }, 1] }, b: 2 };
    await expect(sagas.start(Order, other, { correlationId: '1' })).rejects.toThrow(SagaConflictError);
  });

  test('is unique for a name, not beyond', async () => {
    @Saga({ name: 'refund' })
    class Refund {
      @Step() pay() {}
    }
    const { sagas } = await apps.start({ sagas: [Order, Refund], options: NO_WORKER });
    const order = await sagas.start(Order, {}, { correlationId: 'one' });
    const refund = await sagas.start(Refund, {}, { correlationId: 'one' });
    expect(refund).toMatchObject({ created: true });
    expect(refund.id).not.toBe(order.id);
  });
});

describe('an id', () => {
  test('of the caller’s names one saga, too', async () => {
    const { sagas } = await apps.start({ sagas: [Order] });
    const id = randomUUID();
    const first = await sagas.start(Order, { n: 1 }, { id: id.toUpperCase() });
    const again = await sagas.start(Order, { n: 1 }, { id });
    expect([first.id, first.created, again.id, again.created]).toEqual([id, true, id, false]);
    await expect(sagas.start(Order, { n: 2 }, { id })).rejects.toThrow(SagaConflictError);
    await expect(sagas.start(Order, { n: 1 }, { id, correlationId: 'x' })).rejects.toThrow(SagaConflictError);
    await first.outcome();
    expect(Order.ran).toEqual([id]);
  });

  test('of another saga is a conflict', async () => {
    @Saga({ name: 'refund' })
    class Refund {
      @Step() pay() {}
    }
    const { sagas } = await apps.start({ sagas: [Order, Refund], options: NO_WORKER });
    const { id } = await sagas.start(Order, {});
    await expect(sagas.start(Refund, {}, { id })).rejects.toThrow(/'order'/);
  });
});

describe('a start inside the caller’s transaction', () => {
  test('is there and runs once that has committed', async () => {
    const { sagas, dataSource, stopPolling } = await apps.start({ sagas: [Order] });
    stopPolling();
    const handle = await dataSource.transaction(async (manager) => {
      const started = await sagas.start(Order, {}, { manager, correlationId: 'order-1' });
      expect(started.created).toBe(true);
      expect(await count()).toBe(0);
      return started;
    });
    expect((await handle.outcome()).status).toBe('completed');
    expect(Order.ran).toEqual(['order-1']);
  });

  test('was never there if that is rolled back', async () => {
    const { sagas, dataSource } = await apps.start({ sagas: [Order] });
    const rolledBack = dataSource.transaction(async (manager) => {
      await sagas.start(Order, {}, { manager, correlationId: 'order-1' });
      throw new Error('no order');
    });
    await expect(rolledBack).rejects.toThrow('no order');
    expect(await count()).toBe(0);
    const again = await sagas.start(Order, { other: true }, { correlationId: 'order-1' });
    expect(again.created).toBe(true);
  });

  test('finds a saga that is there, and leaves the transaction usable', async () => {
    const { sagas, dataSource } = await apps.start({ sagas: [Order], options: NO_WORKER });
    const { id } = await sagas.start(Order, {}, { correlationId: 'order-1' });
    await dataSource.transaction(async (manager) => {
      expect(await sagas.start(Order, {}, { manager, correlationId: 'order-1' })).toMatchObject({
        id,
        created: false,
      });
      const conflict = sagas.start(Order, { n: 1 }, { manager, correlationId: 'order-1' });
      await expect(conflict).rejects.toThrow(SagaConflictError);
      await sagas.start(Order, {}, { manager, correlationId: 'order-2' });
    });
    expect(await count()).toBe(2);
  });
});

describe('priority', () => {
  test('orders what waits for a busy worker', async () => {
    const [busy, go] = [new Gate(), new Gate()];
    @Saga({ name: 'job' })
    class Job {
      static readonly ran: string[] = [];
      @Step() async work({ input }: StepContext<string>) {
        Job.ran.push(input);
        busy.open();
        await go.opened;
      }
    }
    const { sagas } = await apps.start({ sagas: [Job], options: { worker: { concurrency: 1 } } });
    const handles = [await sagas.start(Job, 'first')];
    await busy.opened;
    for (const priority of [0, 50, 100, 10]) {
      handles.push(await sagas.start(Job, `priority ${priority}`, { priority }));
    }
    // Waiting for 1,010 s is worth more than a priority of 100.
    const aged = await sagas.start(Job, 'waited long');
    const back = `interval '1010 s'`;
    await apps.sql(
      `UPDATE saga.instance SET due_at = due_at - ${back}, rank_at = rank_at - ${back} WHERE id = $1`,
      [aged.id],
    );
    go.open();
    await Promise.all([...handles, aged].map(({ outcome }) => outcome()));
    const order = ['first', 'waited long', 'priority 100', 'priority 50', 'priority 10', 'priority 0'];
    expect(Job.ran).toEqual(order);
  });

  test('aside, what waits is not starved by what is started meanwhile, and never more run than may', async () => {
    let feeding = true;
    let running = 0;
    let most = 0;
    @Saga({ name: 'job' })
    class Job {
      @Step() async work() {
        running += 1;
        most = Math.max(most, running);
        await pause(2);
        running -= 1;
      }
    }
    const concurrency = 10;
    const { sagas } = await apps.start({ sagas: [Job], options: { worker: { concurrency } } });
    // They keep the worker busy by themselves: as soon as one saga is done the next is started.
    const feeders = Array.from({ length: concurrency * 3 }, async () => {
      while (feeding) await (await sagas.start(Job, {})).outcome();
    });
    await until(() => most >= concurrency);
    const waiting = await Promise.all(Array.from({ length: 50 }, () => sagas.start(Job, {})));
    // Starved, they would wait for as long as the others come.
    await Promise.all(waiting.map(({ outcome }) => outcome()));
    feeding = false;
    await Promise.all(feeders);
    expect(most).toBe(concurrency);
  });
});

describe('a start for later', () => {
  test('waits for its delay, and for its time', async () => {
    const { sagas, stopPolling } = await apps.start({ sagas: [Order] });
    stopPolling();
    const [{ now }] = (await apps.sql('SELECT now()')) as [{ now: Date }];
    const startAt = new Date(now.getTime() + 300);
    const handles = [
      await sagas.start(Order, {}, { delay: '300ms' }),
      await sagas.start(Order, {}, { startAt }),
    ];
    for (const { id, outcome } of handles) {
      expect((await outcome()).status).toBe('completed');
      const { finishedAt } = await sagas.get(id);
      expect(finishedAt!.getTime()).toBeGreaterThanOrEqual(startAt.getTime() - 2);
    }
  });

  test('by a process without a worker, or inside a transaction, is no later for that', async () => {
    const worker = await apps.start({ sagas: [Order] });
    const web = await apps.start({ sagas: [Order], options: NO_WORKER });
    // No worker has to poll for them.
    for (const app of [worker, web]) app.stopPolling();
    const delayed = await web.sagas.start(Order, {}, { delay: '300ms' });
    expect((await delayed.outcome()).status).toBe('completed');
    const inside = await web.dataSource.transaction((manager) =>
      web.sagas.start(Order, {}, { manager, delay: '300ms' }),
    );
    expect((await inside.outcome()).status).toBe('completed');
  });

  test('in the past starts immediately, and is not more urgent for it', async () => {
    const { sagas } = await apps.start({ sagas: [Order], options: NO_WORKER });
    const other = await sagas.start(Order, {}, { priority: 1 });
    for (const startAt of [new Date(0), new Date(-8.64e15), new Date('0001-01-01')]) {
      await sagas.start(Order, {}, { startAt });
    }
    const [first] = await apps.sql('SELECT id FROM saga.instance ORDER BY rank_at LIMIT 1');
    expect(first!.id).toBe(other.id);
    await apps.start({ sagas: [Order] });
    await until(() => Order.ran.length === 4);
  });
});

test('tags are kept', async () => {
  const { sagas } = await apps.start({ sagas: [Order], options: NO_WORKER });
  const tags = { tenant: 'acme', 'a "b" \\': '🚀 {}' };
  const { id } = await sagas.start(Order, {}, { tags });
  expect((await sagas.get(id)).tags).toEqual(tags);
  expect((await sagas.find({ tags })).items).toMatchObject([{ id, tags }]);
});

describe('wrong options', () => {
  test('are all named at once', async () => {
    const { sagas } = await apps.start({ sagas: [Order], options: NO_WORKER });
    const common = { id: 'x', correlationId: 'a\0', priority: 101, tags: { a: 1 as unknown as string } };
    for (const wrong of [
      { ...common, delay: 'soon' as never },
      { ...common, startAt: new Date(NaN) },
    ]) {
      const error = await sagas.start(Order, {}, wrong).then(undefined, (thrown: Error) => thrown);
      expect(error).toBeInstanceOf(SagaValidationError);
      for (const option of Object.keys(wrong)) expect((error as Error).message).toContain(option);
    }
    expect(await count()).toBe(0);
  });

  test.each([
    { correlationId: '' },
    { correlationId: 'x'.repeat(256) },
    { correlationId: '\ud800' },
    { priority: 1.5 },
    { priority: -1 },
    { delay: -1 },
    { delay: 1, startAt: new Date('2030-01-01') },
    { tags: [] as unknown as Record<string, string> },
  ])('are refused: %j', async (options) => {
    const { sagas } = await apps.start({ sagas: [Order], options: NO_WORKER });
    await expect(sagas.start(Order, {}, options)).rejects.toThrow(SagaValidationError);
  });

  test('include a class that is no saga of this application', async () => {
    class Nothing {}
    const { sagas } = await apps.start({ sagas: [Order], options: NO_WORKER });
    await expect(sagas.start(Nothing, {})).rejects.toMatchObject({ code: 'SAGA_DEFINITION' });
  });
});

const cycle: Record<string, unknown> = { name: 'a' };
cycle.self = { back: cycle };
const UNSTORABLE: readonly (readonly [string, unknown, string])[] = [
  ['a bigint', { order: { lines: [{ price: 1n }] } }, '.order.lines[0].price'],
  ['a cycle', { cycle }, '.cycle.self.back'],
  ['NUL', { a: ['ok', 'b\0'] }, '.a[1]'],
  ['half a surrogate pair', { 'a b': '\ud83d' }, '["a b"]'],
  ['NUL in a key', { 'a\0': 1 }, '["a\\u0000"]'],
  ['too many bytes', { text: 'é'.repeat(600) }, ''],
];

describe('what cannot be stored exactly', () => {
  test.each(UNSTORABLE)('is refused as input, by its path: %s', async (_, value, path) => {
    const { sagas } = await apps.start({ sagas: [Order], options: { ...NO_WORKER, maxPayloadBytes: 1_000 } });
    const start = sagas.start(Order, value);
    await expect(start).rejects.toThrow(SagaPayloadError);
    await expect(start).rejects.toMatchObject({ code: 'SAGA_PAYLOAD', path: `input${path}` });
    expect(await count()).toBe(0);
  });

  test.each(UNSTORABLE)(
    'fails a step as its result, which is undone and not tried again: %s',
    async (_, value, path) => {
      const undone: unknown[] = [];
      let attempts = 0;
      @Saga({ name: 'bad-result' })
      class BadResult {
        @Step({ compensate: 'undo', retry: { attempts: 5 } }) act(): unknown {
          attempts += 1;
          return value;
        }
        undo(ctx: CompensationContext<unknown, unknown>) {
          undone.push(ctx.result);
        }
      }
      const { sagas } = await apps.start({ sagas: [BadResult], options: { maxPayloadBytes: 1_000 } });
      const { outcome } = await sagas.start(BadResult, {});
      const { status, failure } = await outcome();
      expect({ status, attempts, undone }).toEqual({
        status: 'compensated',
        attempts: 1,
        undone: [undefined],
      });
      expect(failure).toMatchObject({ kind: 'error', step: 'act', error: { code: 'SAGA_PAYLOAD' } });
      expect(failure?.error?.message).toContain(`result of step 'act'${path}`);
    },
  );

  test('is refused as the result of a step that is resolved', async () => {
    const { sagas, operations } = await apps.start({ sagas: [Order], options: NO_WORKER });
    const { id } = await sagas.start(Order, {});
    await expect(operations.resolve(id, 'reserve', { result: 1n })).rejects.toThrow(SagaPayloadError);
    await expect(operations.retry(id, { input: 1n })).rejects.toThrow(SagaPayloadError);
  });
});
