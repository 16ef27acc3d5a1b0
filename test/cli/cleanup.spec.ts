import { Saga, Step } from '../../libs/saga/src/index.js';
import { TestApps } from '../support/test-app.js';
import { sagaOn } from './support/saga-bin.js';
import { sagaHereOn } from './support/saga-here.js';

const apps = TestApps.onOwnDatabase();
const run = sagaOn(apps);
const here = sagaHereOn(apps);

@Saga({ name: 'order' })
class Order {
  @Step() place() {}
}

const left = async () =>
  (await apps.sql<{ n: number }>('SELECT count(*)::int AS n FROM saga.instance'))[0]!.n;

/** Three that ended a month ago, and one that did just now. */
async function ended(): Promise<void> {
  const { sagas } = await apps.start({ sagas: [Order] });
  const handles = await Promise.all([1, 2, 3].map(() => sagas.start(Order, {})));
  for (const { outcome } of handles) await outcome();
  await apps.sql(`UPDATE saga.instance SET finished_at = finished_at - interval '30d'`);
  await (await sagas.start(Order, {})).outcome();
}

test('saga cleanup deletes what ended long enough ago, and counts it first', async () => {
  await ended();
  const counted = await run('cleanup --older-than 7d --dry-run');
  expect([counted.code, counted.out]).toEqual([0, 'Would delete 3 saga(s)\n']);
  expect(await left()).toBe(4);
  expect((await here('cleanup order --older-than 7d --limit 2 --yes --json')).out.trim()).toBe(
    '{"deleted":2,"more":true}',
  );
  expect((await here('cleanup another --older-than 7d --yes')).out).toBe('Deleted 0 saga(s)\n');
  expect((await here('cleanup --older-than 7d --yes')).out).toBe('Deleted 1 saga(s)\n');
  expect(await left()).toBe(1);
});

test('saga cleanup never guesses how old, and asks', async () => {
  expect(await here('cleanup --yes')).toMatchObject({
    code: 2,
    error: expect.stringContaining('--older-than 90d'),
  });
  expect(await here('cleanup --older-than 7d')).toMatchObject({
    code: 2,
    error: expect.stringContaining('Give --yes'),
  });
  expect((await here('cleanup --older-than soon --yes')).code).toBe(2);
});
