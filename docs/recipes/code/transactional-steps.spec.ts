import { SagaNotFoundError, type TransactionalStepContext } from 'nestjs-durable-saga';
import { RecipeApps } from './recipe-apps.js';
import {
  Account,
  Booking,
  TransferModule,
  TransferRequest,
  Transfers,
  TransferSaga,
  type Transfer,
} from './transactional-steps.js';

describe('the transactional-steps recipe', () => {
  const apps = RecipeApps.onOwnDatabase();
  const open = async () => {
    const app = await apps.start({
      ...{ module: { imports: [TransferModule] }, entities: [Account, Booking, TransferRequest] },
      sagas: { retry: { attempts: 3, delay: 1 } },
    });
    await app.dataSource.manager.clear(Booking);
    await app.dataSource.manager.save(Account, [
      { id: 'ada', cents: 1_000 },
      { id: 'bob', cents: 0 },
    ]);
    return app;
  };
  const cents = async () => {
    const rows = await apps.sql<{ id: string; cents: number }>('SELECT id, cents FROM account ORDER BY id');
    return Object.fromEntries(rows.map((row) => [row.id, row.cents]));
  };

  test('moves money once, whatever fails after a write', async () => {
    const { nest } = await open();
    const saga = nest.get(TransferSaga);
    const debit = saga.debit.bind(saga);
    saga.debit = async (ctx: TransactionalStepContext<Transfer>) => {
      const result = await debit(ctx);
      if (ctx.attempt === 1) throw new Error('the process is in trouble');
      return result;
    };
    const handle = await nest.get(Transfers).request({ id: 't-1', from: 'ada', to: 'bob', cents: 300 });
    expect((await handle.outcome({ timeout: '10s' })).status).toBe('completed');
    expect(await cents()).toEqual({ ada: 700, bob: 300 });
    expect(await apps.sql('SELECT * FROM booking')).toHaveLength(2);
    const sent = await apps.sql(`SELECT payload FROM saga.outbox WHERE aggregatetype = 'bookings'`);
    expect(sent).toEqual([{ payload: { account: 'ada', cents: -300 } }]);
  });

  test('writes nothing when it refuses', async () => {
    const { nest } = await open();
    const handle = await nest.get(Transfers).request({ id: 't-2', from: 'ada', to: 'bob', cents: 5_000 });
    expect((await handle.outcome({ timeout: '10s' })).failure?.kind).toBe('rejected');
    expect(await cents()).toEqual({ ada: 1_000, bob: 0 });
    expect(await apps.sql('SELECT * FROM booking')).toEqual([]);
  });

  test('gives back what it took when it turns back', async () => {
    const { nest } = await open();
    const handle = await nest.get(Transfers).request({ id: 't-3', from: 'ada', to: 'nobody', cents: 300 });
    expect((await handle.outcome({ timeout: '10s' })).status).toBe('compensated');
    expect(await cents()).toEqual({ ada: 1_000, bob: 0 });
    expect(await apps.sql('SELECT * FROM booking')).toHaveLength(2);
  });

  test('starts no saga without the request', async () => {
    const { nest, sagas } = await open();
    const transfers = nest.get(Transfers);
    await (
      await transfers.request({ id: 't-4', from: 'ada', to: 'bob', cents: 1 })
    ).outcome({ timeout: '10s' });
    await sagas.cleanup({ olderThan: 0, saga: TransferSaga });
    // The request is there already, and its row is refused; with it goes the start.
    const again = transfers.request({ id: 't-4', from: 'ada', to: 'bob', cents: 1 });
    await expect(again).rejects.toThrow(/duplicate key/);
    const missing = sagas.get({ saga: TransferSaga, correlationId: 't-4' });
    await expect(missing).rejects.toBeInstanceOf(SagaNotFoundError);
  });
});
