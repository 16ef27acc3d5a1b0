import { Approval, Saga } from '../../libs/saga/src/index.js';
import type { ApprovalTask } from '../../libs/saga/src/operators.js';
import { until } from '../support/gate.js';
import { AdminApps } from './support/admin-apps.js';

const apps = AdminApps.onOwnDatabase();

@Saga({ name: 'expense' })
class Expense {
  @Approval({ quorum: 2 }) agree() {}
}
@Saga({ name: 'secret' })
class Secret {
  @Approval() agree() {}
}

interface TaskPage {
  readonly items: readonly (ApprovalTask & { readonly actions: readonly string[] })[];
  readonly next?: string;
}

async function opened(admin: object = {}) {
  const app = await apps.start({ sagas: [Expense, Secret], admin });
  const tags = { team: 'a' };
  const { id } = await app.sagas.start(Expense, {}, { correlationId: 'e-1', tags });
  await app.sagas.start(Secret, {});
  await until(async () => (await app.sagas.tasks()).items.length === 2);
  const tasks = async (query = '') => (await app.client.get(`/api/tasks${query}`)).body as TaskPage;
  return { ...app, id, tasks };
}

test('tasks are listed by saga, step and tags, page by page, and approved', async () => {
  const { client, id, tasks } = await opened();
  const { items } = await tasks('?saga=expense&step=agree&tag=team:a');
  expect(items).toEqual([
    {
      ...{ id, saga: 'expense', version: 1, correlationId: 'e-1', tags: { team: 'a' }, step: 'agree' },
      ...{ since: expect.any(String), quorum: 2, approvals: [], actions: ['approve', 'reject'] },
    },
  ]);
  expect((await tasks('?tag=team:b')).items).toEqual([]);
  const first = await tasks('?limit=1');
  const second = await tasks(`?limit=1&cursor=${first.next}`);
  expect([...first.items, ...second.items].map(({ saga }) => saga).sort()).toEqual(['expense', 'secret']);
  expect(second.next).toBeUndefined();
  await client.post(`/api/sagas/${id}/approve`, { step: 'agree', by: 'ann' });
  expect((await tasks('?saga=expense')).items).toMatchObject([{ approvals: [{ by: 'ann' }] }]);
  await client.post(`/api/sagas/${id}/approve`, { step: 'agree', by: 'bob' });
  expect((await tasks('?saga=expense')).items).toEqual([]);
});

test('an invalid query is refused', async () => {
  const { client } = await opened();
  expect(await client.get('/api/tasks?limit=0&tag=a')).toMatchObject({
    ...{ status: 400, body: { message: expect.stringMatching(/tag is 'a'.*limit is '0'/s) } },
  });
  expect(await client.get('/api/tasks?cursor=x')).toMatchObject({ status: 400 });
  expect(await client.get('/api/tasks?stepp=x')).toMatchObject({ status: 400 });
});

test('who may not see a saga does not see its tasks, and who may only look cannot decide', async () => {
  const { tasks, client } = await opened({
    authorize: ({ kind, saga }: { kind: string; saga?: string }) => saga !== 'secret' && kind === 'look',
  });
  expect((await tasks()).items).toMatchObject([{ saga: 'expense', actions: [] }]);
  expect((await client.get('/api/tasks?saga=secret')).status).toBe(403);
});
