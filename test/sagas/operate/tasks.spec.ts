import { Approval, Saga, SagaValidationError, Step, WaitFor } from '../../../libs/saga/src/index.js';
import type { SagaService } from '../../../libs/saga/src/index.js';
import type { TaskFilter } from '../../../libs/saga/src/operators.js';
import { Gate, until } from '../../support/gate.js';
import { type TestApp, TestApps } from '../../support/test-app.js';

const apps = TestApps.onOwnDatabase();
let going: Gate<void>;
beforeEach(() => (going = new Gate()));

@Saga({ name: 'expense' })
class ExpenseSaga {
  @Approval({ timeout: '9d', quorum: 2 }) agree() {}
  @Approval({ after: [] }) sign() {}
  @Step({ after: ['agree', 'sign'] }) pay() {}
}

@Saga({ name: 'leave' })
class LeaveSaga {
  @WaitFor({ after: [], signal: 'note' }) note() {}
  @Approval({ after: [] }) allow() {}
  @Step({ after: [] }) async book() {
    await going.opened;
  }
}

const sagas = [ExpenseSaga, LeaveSaga];
const stepsOf = async (service: SagaService, filter?: TaskFilter) =>
  (await service.tasks(filter)).items.map(({ step }) => step);

test('lists the steps that wait for a decision, oldest first, with their sagas and who has approved', async () => {
  const { sagas: service } = await apps.start({ sagas });
  const before = Date.now();
  const { id } = await service.start(ExpenseSaga, {}, { correlationId: 'e-1', tags: { team: 'a' } });
  await until(async () => (await stepsOf(service)).length === 2);
  await service.approve(id, 'agree', { by: 'ann', comment: 'checked' });
  const { items, next } = await service.tasks({ saga: ExpenseSaga, step: 'agree' });
  const of = { id, saga: 'expense', version: 1, correlationId: 'e-1', tags: { team: 'a' } };
  const [{ since, until: end }] = items as [(typeof items)[number]];
  expect(items).toEqual([
    {
      ...{ ...of, step: 'agree', since, until: end, quorum: 2 },
      approvals: [{ by: 'ann', comment: 'checked', at: expect.any(Date) }],
    },
  ]);
  expect(next).toBeUndefined();
  expect(since.getTime()).toBeGreaterThan(before - 60_000);
  expect(end!.getTime() - since.getTime()).toBe(9 * 86_400_000);
  expect((await service.tasks({ step: 'sign' })).items).toMatchObject([
    { ...of, step: 'sign', quorum: 1, approvals: [], until: undefined },
  ]);
});

test('comes in pages, filtered by saga, step and tags', async () => {
  const { sagas: service } = await apps.start({ sagas });
  for (const n of [1, 2, 3]) await service.start(ExpenseSaga, {}, { tags: { n: String(n) } });
  await service.start(LeaveSaga, {});
  await until(async () => (await stepsOf(service)).length === 7);
  const all = (await service.tasks()).items;
  const pages = [await service.tasks({ limit: 3 })];
  while (pages.at(-1)!.next) pages.push(await service.tasks({ limit: 3, cursor: pages.at(-1)!.next }));
  expect(pages.map(({ items }) => items.length)).toEqual([3, 3, 1]);
  expect(pages.flatMap(({ items }) => items)).toEqual(all);
  const times = all.map(({ since }) => since.getTime());
  expect(times).toEqual(times.toSorted((a, b) => a - b));
  expect(await stepsOf(service, { saga: 'leave' })).toEqual(['allow']);
  expect(await stepsOf(service, { saga: LeaveSaga, step: 'sign' })).toEqual([]);
  expect((await stepsOf(service, { saga: ExpenseSaga, tags: { n: '2' } })).sort()).toEqual(['agree', 'sign']);
  // A saga whose row was deleted by other means takes no place.
  await apps.sql('DELETE FROM saga.instance WHERE id = $1', [all[0]!.id]);
  expect((await service.tasks({ limit: 3 })).items).toEqual(
    all.filter(({ id }) => id !== all[0]!.id).slice(0, 3),
  );
  going.open();
});

test.each<[string, (app: Pick<TestApp, 'sagas' | 'operations'>, id: string) => Promise<unknown>]>([
  ['approves it', ({ sagas }, id) => sagas.approve(id, 'allow', { by: 'ann' })],
  ['rejects it', ({ sagas }, id) => sagas.reject(id, 'allow', { by: 'ann' })],
  ['lets its time end', ({ operations }, id) => operations.reschedule(id, 'allow', 1)],
  ['cancels the saga', ({ sagas }, id) => sagas.cancel(id)],
  ['aborts the saga', ({ operations }, id) => operations.abort(id)],
  ['pauses the saga', ({ operations }, id) => operations.pause(id)],
])('a task is gone once an operator %s', async (_, call) => {
  const app = await apps.start({ sagas });
  const { sagas: service } = app;
  going.open();
  const { id } = await service.start(LeaveSaga, {});
  const waits = async () => (await service.get(id)).steps.find(({ name }) => name === 'book')?.status;
  await until(async () => (await waits()) === 'completed');
  expect(await stepsOf(service)).toEqual(['allow']);
  await call(app, id);
  await until(async () => (await stepsOf(service)).length === 0);
});

test('a decision ends the task at once, while the saga is busy with another step', async () => {
  const { sagas: service } = await apps.start({ sagas });
  const { id } = await service.start(LeaveSaga, {});
  await until(async () => (await stepsOf(service)).length === 1);
  await service.approve(id, 'allow', { by: 'ann' });
  expect(await stepsOf(service)).toEqual([]);
  going.open();
  await service.signal(id, 'note');
  expect((await service.wait(id)).status).toBe('completed');
  expect(await stepsOf(service)).toEqual([]);
});

test('a paused saga has no task, and has it again, with its time, once it is resumed', async () => {
  const { sagas: service, operations } = await apps.start({ sagas });
  going.open();
  const { id } = await service.start(LeaveSaga, {});
  await until(async () => (await stepsOf(service)).length === 1);
  const { items } = await service.tasks();
  await until(async () => (await service.get(id)).waitingFor?.kind !== undefined);
  await operations.pause(id);
  await until(async () => (await service.get(id)).status === 'paused');
  expect(await stepsOf(service)).toEqual([]);
  await operations.resume(id);
  await until(async () => (await stepsOf(service)).length === 1);
  expect((await service.tasks()).items[0]!.since).toEqual(items[0]!.since);
});

test('an invalid filter is refused, with all that is wrong', async () => {
  const { sagas: service } = await apps.start({ sagas });
  const refused = service.tasks({ limit: 0, cursor: 'x', step: '' });
  await expect(refused).rejects.toThrow(SagaValidationError);
  await expect(refused).rejects.toThrow(/step is ''; give .* limit is 0; .* cursor is 'x'/);
  await expect(service.tasks({ stepp: 'a' } as never)).rejects.toThrow("Did you mean 'step'");
});
