import { Approval, Saga } from '../../libs/saga/src/index.js';
import type { ApprovalTask } from '../../libs/saga/src/operators.js';
import { until } from '../support/gate.js';
import { TestApps } from '../support/test-app.js';
import { sagaHereOn } from './support/saga-here.js';

const apps = TestApps.onOwnDatabase();
const here = sagaHereOn(apps);

@Saga({ name: 'expense' })
class Expense {
  @Approval({ quorum: 2, timeout: '9d' }) agree() {}
}

test('saga tasks lists the steps that wait for approval, as far as is asked, and says if there are none', async () => {
  const { sagas } = await apps.start({ sagas: [Expense] });
  expect(await here('tasks')).toMatchObject({ code: 0, out: '', error: 'No step waits for approval\n' });
  const ids: string[] = [];
  for (const team of ['a', 'b']) {
    const { id } = await sagas.start(Expense, {}, { correlationId: `e-${team}`, tags: { team } });
    await until(async () => (await sagas.tasks()).items.some((task) => task.id === id));
    ids.push(id);
  }
  await here(`approve ${ids[0]} agree --by ann`);
  const { out } = await here('tasks --saga expense --step agree --tag team=a');
  expect(out).toMatch(
    new RegExp(`^ID .*APPROVALS *\n${ids[0]} +expense@1 +agree +e-a +.* +in .* +1 of 2 \\(ann\\)\n$`),
  );
  const first = await here('tasks --limit 1 --json');
  const { items, next } = JSON.parse(first.out) as { items: ApprovalTask[]; next: string };
  expect(items).toMatchObject([{ id: ids[0], quorum: 2, approvals: [{ by: 'ann' }] }]);
  const second = JSON.parse((await here(`tasks --json --cursor ${next}`)).out) as { items: ApprovalTask[] };
  expect(second.items.map(({ id }) => id)).toEqual([ids[1]]);
  expect((await here('tasks --limit 1')).error).toBe(`More steps: --cursor ${next}\n`);
  expect(await here('tasks --limit 0')).toMatchObject({ code: 2 });
});
