import pg from 'pg';
import {
  Saga,
  SagaShardUnavailableError,
  Step,
  type StepContext,
  WaitFor,
} from '../../../libs/saga/src/index.js';
import { Gate, pause, until } from '../../support/gate.js';
import { ShardApps } from '../../support/shard-apps.js';

@Saga({ name: 'payment' })
class PaymentSaga {
  @WaitFor({ signal: 'paid' }) paid(_ctx: StepContext<object>, amount: number) {
    return amount;
  }
}

let [begun, released] = [new Gate(), new Gate()];

@Saga({ name: 'slow' })
class SlowSaga {
  @Step() async send() {
    begun.open();
    await released.opened;
  }
}

const apps = ShardApps.over('eu', 'us');
const sagas = [PaymentSaga, SlowSaga];

test('a closed shard is changed by no process, and continues in them when it is opened', async () => {
  const [app, other] = [await apps.start({ sagas }), await apps.start({ sagas })];
  const handle = await app.sagas.start(PaymentSaga, {}, { shard: 'eu' });
  const outcome = handle.outcome();
  await until(async () => (await app.sagas.get(handle.id)).waitingFor?.kind === 'signal');
  await Promise.all([
    expect(outcome).rejects.toThrow("Shard 'eu' cannot be reached: it is closed"),
    other.shards.close('eu', { by: 'ann', reason: 'a try' }),
  ]);
  // No process changes anything there, whatever it believes.
  await expect(apps.sql('eu', 'DELETE FROM saga.instance')).rejects.toThrow('the shard is closed');
  for (const { sagas: service } of [app, other])
    await expect(service.signal(handle.id, 'paid', 1)).rejects.toThrow(SagaShardUnavailableError);
  expect((await app.sagas.find()).unreachable).toEqual(['eu']);
  expect((await app.shards.list()).map(({ closed }) => closed)).toEqual([true, false]);
  // A process that starts meanwhile has it closed as well.
  const late = await apps.start({ sagas });
  expect((await late.shards.list()).map(({ reachable }) => reachable)).toEqual([false, true]);
  await app.shards.close('eu');
  await late.shards.open('eu', { by: 'ann' });
  await until(async () => (await app.shards.list())[0]!.reachable);
  await app.sagas.signal(handle.id, 'paid', 1);
  expect((await app.sagas.wait(handle.id)).results).toEqual({ paid: 1 });
  expect(await apps.sql('eu', 'SELECT accepting, closed, changed_by FROM saga.shard')).toEqual([
    { accepting: true, closed: false, changed_by: 'ann' },
  ]);
});

test('a shard is not closed before the step that runs there has ended and is recorded', async () => {
  [begun, released] = [new Gate(), new Gate()];
  const app = await apps.start({ sagas });
  const handle = await app.sagas.start(SlowSaga, {}, { shard: 'eu' });
  await begun.opened;
  let isClosed = false;
  const closing = app.shards.close('eu').then(() => (isClosed = true));
  await until(async () => (await app.shards.list())[0]!.closed);
  // The step takes its time.
  await pause(500);
  expect(isClosed).toBe(false);
  released.open();
  await closing;
  const rows = await apps.sql('eu', 'SELECT status FROM saga.instance WHERE id = $1', [handle.id]);
  expect(rows).toEqual([{ status: 'completed' }]);
  await app.shards.open('eu');
});

test('a shard is not closed while a process has a saga that it took after the last look', async () => {
  [begun, released] = [new Gate(), new Gate()];
  const app = await apps.start({ sagas });
  const { id } = await app.sagas.start(PaymentSaga, {}, { shard: 'eu' });
  await apps.idle('eu');
  // A process whose claim is not committed at the look.
  const claiming = new pg.Client({ connectionString: apps.url('eu') });
  await claiming.connect();
  await claiming.query('BEGIN');
  await claiming.query(
    `UPDATE saga.instance SET locked_by = 'a process', rank_at = now(), due_at = now() + interval '1 hour' WHERE id = $1`,
    [id],
  );
  let isClosed = false;
  const closing = app.shards.close('eu').then(() => (isClosed = true));
  const locks = `SELECT FROM pg_locks JOIN pg_database d ON d.oid = database WHERE NOT granted AND datname = current_database()`;
  await until(async () => (await apps.sql('eu', locks)).length > 0);
  await claiming.query('COMMIT');
  await pause(500);
  expect(isClosed).toBe(false);
  await claiming.query(
    'UPDATE saga.instance SET locked_by = NULL, rank_at = NULL, due_at = NULL WHERE id = $1',
    [id],
  );
  await claiming.end();
  await closing;
  await app.shards.open('eu');
});
