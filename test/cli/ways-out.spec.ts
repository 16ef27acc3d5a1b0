import { Saga, Step, type StepContext } from '../../libs/saga/src/index.js';
import { until } from '../support/gate.js';
import { TestApps } from '../support/test-app.js';
import { sagaHereOn } from './support/saga-here.js';

const apps = TestApps.onOwnDatabase();
const run = sagaHereOn(apps);
/** Methods hang when the application is closed. */
const IMPATIENT = { worker: { shutdownTimeout: 50 } };
let calls: string[];
beforeEach(() => (calls = []));

@Saga({ name: 'hanging', retry: { attempts: 3, delay: '1h' } })
class Hanging {
  @Step() pay({ attempt }: StepContext): Promise<string> | string {
    calls.push(`pay ${attempt}`);
    return attempt === 2 ? 'paid' : new Promise(() => {});
  }
  @Step() ship() {}
}

async function hanging(correlationId: string) {
  const { sagas, operations } = await apps.start({ sagas: [Hanging], options: IMPATIENT });
  const handle = await sagas.start(Hanging, {}, { correlationId });
  await until(() => calls.includes('pay 1'));
  return { sagas, operations, ...handle };
}

test('saga abandon abandons an attempt, and saga retry-now makes the next one at once', async () => {
  const { sagas, operations, id, outcome } = await hanging('a');
  const abandoned = await run('abandon hanging/a pay --yes --reason hangs');
  expect([abandoned.code, abandoned.out]).toEqual([0, "Abandoned the attempt of 'pay' of hanging/a\n"]);
  const waits = () => until(async () => (await sagas.get(id)).waitingFor?.kind === 'retry');
  await waits();
  expect((await run('reschedule hanging/a pay 30d --reason later')).out).toBe(
    "Rescheduled 'pay' of hanging/a\n",
  );
  await waits();
  expect((await run('retry-now hanging/a')).out).toBe('Retried hanging/a\n');
  expect((await outcome()).results).toEqual({ pay: 'paid' });
  expect(await operations.history(id)).toMatchObject([
    { action: 'abandon', by: 'ann', reason: 'hangs', step: 'pay' },
    { action: 'reschedule', by: 'ann', reason: 'later', step: 'pay', to: '2592000000 ms' },
    { action: 'retryNow', by: 'ann' },
  ]);
});

test('saga resolve takes a running step as done, and saga cancel --unless-begun heeds it', async () => {
  const { outcome } = await hanging('b');
  const refused = await run('cancel hanging/b --unless-begun pay --yes');
  expect([refused.code, refused.error]).toEqual([
    1,
    expect.stringContaining("may have begun its step 'pay'"),
  ]);
  const wrong = await run('resolve hanging/b ship --yes');
  expect([wrong.code, wrong.error]).toEqual([1, expect.stringContaining('It could be: pay')]);
  const done = await run('resolve hanging/b pay --yes --result', '"cash"');
  expect([done.code, done.out]).toEqual([0, "Marked 'pay' of hanging/b as done elsewhere\n"]);
  expect((await outcome()).results).toEqual({ pay: 'cash' });
});

test('saga resolve and abandon do nothing without a terminal and without --yes', async () => {
  await hanging('c');
  for (const call of ['resolve', 'abandon']) expect((await run(`${call} hanging/c pay`)).code).not.toBe(0);
  expect(calls).toEqual(['pay 1']);
});
