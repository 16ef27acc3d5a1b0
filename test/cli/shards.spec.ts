import { Saga, type StepContext, WaitFor } from '../../libs/saga/src/index.js';
import { until } from '../support/gate.js';
import { ShardApps } from '../support/shard-apps.js';
import { CodecFile } from './support/codec-file.js';
import { saga } from './support/saga-bin.js';
import { sagaHere } from './support/saga-here.js';

@Saga({ name: 'payment' })
class PaymentSaga {
  @WaitFor({ signal: 'paid' }) paid(_ctx: StepContext<object>, amount: number) {
    return amount;
  }
}

const file = new CodecFile();
const apps = ShardApps.over('eu', 'us', 'alone');
const start = () => apps.start({ sagas: [PaymentSaga], shards: ['eu', 'us'] });
afterEach(async () => {
  for (const name of ['eu', 'us']) {
    apps.find(name);
    await apps.sql(name, 'UPDATE saga.shard SET accepting = true');
    await apps.sql(name, 'DELETE FROM saga.instance');
  }
});

const urls = (...names: string[]) => names.flatMap((name) => ['--url', apps.url(name)]);
const placeOf = (name: string) => {
  const { host, pathname } = new URL(apps.url(name));
  return `${host}${pathname}`;
};
/** Calls the command line with the URLs of these databases. */
const shards = (words: string, ...names: string[]) =>
  sagaHere([...words.split(' '), ...urls(...names)], { environment: { USER: 'ann' } });

const FREE = 'unfinished, 0 need attention, 0 due, 0 overdue';

test('saga shards lists the shards of several URLs, with their sagas and without passwords', async () => {
  const app = await start();
  for (let n = 0; n < 2; n++) await app.sagas.start(PaymentSaga, {}, { shard: 'us' });
  await until(async () => (await app.shards.list())[1]!.counts?.due === 0);
  const listed = await saga(['shards', ...urls('eu', 'us')]);
  expect([listed.code, listed.out]).toEqual([
    0,
    `eu  accepting  ${placeOf('eu')}  0 ${FREE}\nus  accepting  ${placeOf('us')}  2 ${FREE}\n`,
  ]);
  const { out } = await shards('shards --json', 'us', 'eu');
  const [eu, us] = await app.shards.list();
  expect(JSON.parse(out)).toEqual([
    { ...us, database: placeOf('us') },
    { ...eu, database: placeOf('eu') },
  ]);
});

test('a shard may have several hosts, of which the first may be down', async () => {
  await start();
  const several = apps.url('eu').replace('@', '@127.0.0.1:1,');
  const { code, out, error } = await sagaHere(
    ['shards', '--url', `${several}?target_session_attrs=primary`],
    {
      environment: { USER: 'ann' },
    },
  );
  expect({ code, out, error }).toEqual({
    ...{ code: 0, error: '' },
    out: `eu  accepting  127.0.0.1:1,${placeOf('eu')}  0 ${FREE}\n`,
  });
});

test('a shard that cannot be reached is listed beside the others, and the exit code says so', async () => {
  await start();
  apps.lose('us');
  const { code, out } = await shards('shards', 'eu', 'us');
  expect(code).toBe(2);
  expect(out).toMatch(/^eu +accepting .*\n\? +unreachable +127\.0\.0\.1:\d+\/\S+ {2}.+\n$/);
  expect(JSON.parse((await shards('shards --json', 'eu', 'us')).out)).toMatchObject([
    { name: 'eu', reachable: true },
    { database: placeOf('us'), reachable: false },
  ]);
});

test('the applications heed what the command drains and opens, with who did it and why', async () => {
  const app = await start();
  const isOpen = async () => (await app.shards.list())[0]!.accepting;
  const drained = await shards('shards drain eu --reason moving', 'us', 'eu');
  expect([drained.code, drained.out]).toEqual([0, "Shard 'eu' accepts no new sagas\n"]);
  await until(async () => !(await isOpen()));
  await expect(app.sagas.start(PaymentSaga, {}, { shard: 'eu' })).rejects.toThrow('accepts no new sagas');
  expect((await shards('shards', 'eu')).out).toMatch(/^eu +not accepting /);
  const [row] = await apps.sql('eu', 'SELECT changed_by, change_reason FROM saga.shard');
  expect(row).toEqual({ changed_by: 'ann', change_reason: 'moving' });
  const [other] = await apps.sql('us', 'SELECT accepting, changed_by FROM saga.shard');
  expect(other).toEqual({ accepting: true, changed_by: null });
  expect((await shards('shards drain eu --by bob', 'eu')).out).toBe(
    "Shard 'eu' accepts no new sagas, as before\n",
  );
  const opened = await sagaHere(['shards', 'open', 'eu', '--by', 'bob', '--json'], {
    environment: { DATABASE_URL: apps.url('eu') },
  });
  expect([opened.code, JSON.parse(opened.out)]).toEqual([0, { changed: true }]);
  await until(async () => (await isOpen()) === true);
  await app.sagas.start(PaymentSaga, {}, { shard: 'eu' });
});

test.each<[string, string, string[], RegExp]>([
  [
    'none of the databases is',
    'asia',
    ['eu', 'us'],
    /None of the databases is the shard 'asia': eu \(.*us \(/,
  ],
  ['two databases seem to be', 'eu', ['eu', 'eu'], /both have the name 'eu'/],
])('a shard that %s is not drained', async (_, name, where, message) => {
  await start();
  const { code, out, error } = await shards(`shards drain ${name}`, ...where);
  expect([code, out]).toEqual([2, '']);
  expect(error).toMatch(message);
  expect((await shards('shards', 'eu', 'us')).out).not.toContain('not accepting');
});

test('a shard that may be on a database that cannot be reached is refused by that', async () => {
  await start();
  apps.lose('us');
  const { code, error } = await shards('shards drain us', 'eu', 'us');
  expect(code).toBe(2);
  expect(error).toContain(
    `SAGA_SHARD_UNAVAILABLE: Shard 'us' was not found. Not reached: ${placeOf('us')} (`,
  );
});

test('a database without shards is refused, with and without the tables of sagas', async () => {
  const empty = await shards('shards', 'alone');
  expect([empty.code, empty.error]).toEqual([2, expect.stringContaining('has no tables of sagas')]);
  const options = { shards: undefined, database: apps.database('alone') };
  const app = await apps.start({ sagas: [PaymentSaga], shards: [], options });
  await app.close();
  const alone = await shards('shards', 'eu', 'alone');
  expect([alone.code, alone.error]).toEqual([
    2,
    expect.stringContaining(`The database ${placeOf('alone')} is not a shard`),
  ]);
});

test('shards of one database are given by their schemas', async () => {
  const place = (schema: string) => ({ database: apps.database('alone'), schema });
  const options = { shards: { one: place('saga_one'), two: place('saga_two') } };
  const app = await apps.start({ sagas: [PaymentSaga], shards: [], options });
  await app.close();
  const both = ['--schema', 'saga_one', '--schema', 'saga_two', ...urls('alone')];
  const listed = await saga(['shards', ...both]);
  expect([listed.code, listed.out]).toEqual([
    0,
    ['one', 'two']
      .map((name) => `${name}  accepting  ${placeOf('alone')} schema saga_${name}  0 ${FREE}\n`)
      .join(''),
  ]);
  const drained = await saga(['shards', 'drain', 'two', ...both]);
  expect([drained.code, drained.out]).toEqual([0, "Shard 'two' accepts no new sagas\n"]);
  const states = await apps.sql(
    'alone',
    'SELECT name, accepting FROM saga_one.shard UNION ALL SELECT name, accepting FROM saga_two.shard',
  );
  expect(states).toEqual([
    { name: 'one', accepting: true },
    { name: 'two', accepting: false },
  ]);
  const unclear = await saga(['shards', '--schema', 'a', '--schema', 'b', ...urls('eu', 'us', 'alone')]);
  expect([unclear.code, unclear.error]).toEqual([
    2,
    expect.stringContaining('--url is given 3 times, and --schema 2 times. Give a --schema for each --url'),
  ]);
});

test('the reason of a change is stored as the applications store theirs: encoded if they have a codec', async () => {
  await apps.start({ sagas: [PaymentSaga], shards: ['eu', 'us'], options: { codec: file.codec } });
  const refused = await shards('shards drain eu --reason moving', 'eu');
  expect([refused.code, refused.error]).toEqual([
    2,
    expect.stringMatching(/SAGA_CODEC: --reason .*--codec <file>/),
  ]);
  const drained = await shards(`shards drain eu --reason moving --codec ${file.path}`, 'eu');
  expect([drained.code, drained.out]).toEqual([0, "Shard 'eu' accepts no new sagas\n"]);
  const [row] = await apps.sql('eu', 'SELECT changed_by, change_reason FROM saga.shard');
  expect(row).toEqual({ changed_by: 'ann', change_reason: expect.stringMatching(/^saga:coded:/) });
});
