import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Saga, type StepContext, WaitFor } from '../../../libs/saga/src/index.js';
import { sagaHere } from '../../cli/support/saga-here.js';
import { pause, until } from '../../support/gate.js';
import { type ShardApp, ShardApps } from '../../support/shard-apps.js';

const BIN = fileURLToPath(new URL('../../../libs/saga/dist/cli/saga.js', import.meta.url));

const runs: string[] = [];

@Saga({ name: 'payment' })
class PaymentSaga {
  @WaitFor({ signal: 'paid' }) paid({ sagaId }: StepContext<object>, amount: number) {
    runs.push(sagaId);
    return amount;
  }
}

const apps = ShardApps.over('eu', 'us');
const urls = () => ['--url', apps.url('eu'), '--url', apps.url('us')];
let app: ShardApp;
let ids: string[];
beforeEach(async () => {
  app = await apps.start({ sagas: [PaymentSaga] });
  for (const name of ['eu', 'us']) await app.sagas.admit(name);
  const start = () => app.sagas.start(PaymentSaga, {}, { shard: 'eu' });
  ids = (await Promise.all([start(), start(), start()])).map(({ id }) => id).sort();
  await apps.idle('eu');
  await app.sagas.drain('eu');
});
afterEach(async () => {
  for (const name of ['eu', 'us'])
    for (const table of ['instance', 'step', 'signal', 'operation', 'moved', 'arrived'])
      await apps.sql(name, `DELETE FROM saga.${table}`);
});

const sealed = () => apps.sql<{ id: string }>('eu', "SELECT id FROM saga.moved WHERE state = 'sealed'");

/** Kills the process of a move when its first saga has left its shard, and has not arrived. */
async function killMove(): Promise<void> {
  // What arrives waits for this lock.
  await apps.sql('us', 'BEGIN');
  await apps.sql('us', 'SELECT accepting FROM saga.shard FOR UPDATE');
  const move: ChildProcess = spawn(process.execPath, [BIN, 'shards', 'move', 'eu', ...urls()], {
    env: { ...process.env, NODE_OPTIONS: '', USER: 'ann' },
    stdio: 'ignore',
  });
  const ended = once(move, 'exit');
  await until(async () => (await sealed()).length > 0);
  move.kill('SIGKILL');
  expect(await ended).toEqual([null, 'SIGKILL']);
  await apps.sql('us', 'ROLLBACK');
}

test('a move whose process was killed is shown, and finished by the processes of the application', async () => {
  await killMove();
  expect(await sealed()).toHaveLength(1);
  const [eu, us] = await app.sagas.shards();
  expect([eu!.counts, us!.counts]).toMatchObject([
    { unfinished: 2, moving: 1 },
    { moving: 0, oldestMove: 0 },
  ]);
  expect(eu!.counts!.oldestMove).toBeGreaterThan(0);
  const { out } = await sagaHere(['shards', ...urls()], { environment: { USER: 'ann' } });
  expect(out).toMatch(/^eu .*, 0 overdue, 1 on their way since \d+ s\nus .*, 0 overdue\n$/);

  await until(async () => (await sealed()).length === 0);
  expect(await apps.idsOn('us')).toHaveLength(1);
  expect([...(await apps.idsOn('eu')), ...(await apps.idsOn('us'))].sort()).toEqual(ids);
  for (const id of ids) await app.sagas.signal(id, 'paid', 1);
  for (const id of ids) await app.sagas.wait(id);
  expect(runs.sort()).toEqual(ids);
}, 90_000);

test('a move to a shard that cannot be reached is finished when it can', async () => {
  await killMove();
  apps.lose('us');
  await until(async () => (await app.sagas.shards())[1]!.reachable === false);
  await apps.sql('eu', `UPDATE saga.moved SET at = now() - interval '1 h'`);
  // One look at least.
  await pause(6_000);
  expect(await sealed()).toHaveLength(1);
  expect((await app.sagas.shards())[0]!.counts!.oldestMove).toBeGreaterThanOrEqual(3_600);
  apps.find('us');
  await until(async () => (await sealed()).length === 0);
  expect(await apps.idsOn('us')).toHaveLength(1);
}, 90_000);
