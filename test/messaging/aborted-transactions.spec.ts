import { randomUUID } from 'node:crypto';
import type { DataSource, EntityManager } from 'typeorm';
import { SagaTransactionError } from '../../libs/saga/src/index.js';
import { MemoryBroker } from './support/memory-broker.js';
import { MessagingApps } from './support/messaging-apps.js';

const apps = MessagingApps.onOwnDatabase();
const start = () => apps.start({ messaging: { transport: new MemoryBroker() } });
const spend = (manager: EntityManager) => manager.query('INSERT INTO spent VALUES (1)');
const spent = async () => (await apps.sql('SELECT FROM spent')).length;
const noted = async () => (await apps.sql('SELECT FROM saga.inbox')).length;
/** What aborts a transaction, in a handler that takes the error for harmless. */
const swallow = (manager: EntityManager) =>
  manager.query('INSERT INTO once_only VALUES (1)').catch(() => undefined);

/** Sends a failing statement before each commit, and says nothing of it. */
const spoilCommits = ({ subscribers }: DataSource) =>
  subscribers.push({ beforeTransactionCommit: ({ manager }) => swallow(manager) });

beforeAll(() => apps.sql('CREATE TABLE spent (n int); CREATE TABLE once_only AS SELECT 1 AS n'));
beforeAll(() => apps.sql('CREATE UNIQUE INDEX ON once_only (n)'));
beforeEach(() => apps.sql('TRUNCATE spent'));

describe('a message whose work swallowed a database error', () => {
  const work = async (manager: EntityManager) => {
    await spend(manager);
    await swallow(manager);
  };

  test('is not said to be handled, and is handled when it comes again', async () => {
    const { inbox, dataSource } = await start();
    const id = randomUUID();
    const once = inbox.once(id, dataSource.manager, work);
    await expect(once).rejects.toThrow(SagaTransactionError);
    await expect(once).rejects.toMatchObject({
      code: 'SAGA_TRANSACTION',
      message: expect.stringContaining('duplicate key value violates unique constraint'),
      cause: { code: '23505' },
    });
    expect([await spent(), await noted()]).toEqual([0, 0]);
    expect(await inbox.once(id, dataSource.manager, spend)).toMatchObject({ handled: true });
    expect([await spent(), await noted()]).toEqual([1, 1]);
  });

  test('is not said to be handled in a transaction of the caller, who would commit nothing', async () => {
    const { inbox, dataSource } = await start();
    const outer = dataSource.transaction((manager) => inbox.once(randomUUID(), manager, work));
    await expect(outer).rejects.toMatchObject({ code: 'SAGA_TRANSACTION' });
    expect([await spent(), await noted()]).toEqual([0, 0]);
  });

  test('takes only its own savepoint with it, where it is handled in a nested transaction', async () => {
    const { inbox, dataSource } = await start();
    await dataSource.transaction(async (manager) => {
      await spend(manager);
      const nested = manager.transaction((inner) => inbox.once(randomUUID(), inner, work));
      await expect(nested).rejects.toMatchObject({ code: 'SAGA_TRANSACTION' });
      expect((await inbox.once('another', manager, spend)).handled).toBe(true);
    });
    expect([await spent(), await noted()]).toEqual([2, 1]);
  });

  test('is handled if the error was rolled back to a savepoint', async () => {
    const { inbox, dataSource } = await start();
    const once = await inbox.once(randomUUID(), dataSource.manager, async (manager) => {
      await spend(manager);
      await manager.transaction(swallow).catch(() => undefined);
      await manager.query('SAVEPOINT own');
      await swallow(manager);
      await manager.query('ROLLBACK TO SAVEPOINT own');
    });
    expect(once.handled).toBe(true);
    expect([await spent(), await noted()]).toEqual([1, 1]);
  });
});

test('a message whose commit turns into a rollback is not said to be handled', async () => {
  const { inbox, dataSource } = await start();
  spoilCommits(dataSource);
  const once = inbox.once(randomUUID(), dataSource.manager, spend);
  await expect(once).rejects.toMatchObject({ code: 'SAGA_TRANSACTION' });
  expect([await spent(), await noted()]).toEqual([0, 0]);
});

test('a message whose work ends the transaction by itself is not said to be handled', async () => {
  const { inbox, dataSource } = await start();
  for (const end of ['ROLLBACK', 'COMMIT']) {
    const once = inbox.once(randomUUID(), dataSource.manager, async (manager) => {
      await manager.query(end);
    });
    await expect(once).rejects.toMatchObject({
      code: 'SAGA_TRANSACTION',
      message: expect.stringContaining(end),
    });
  }
});

test('publishing in an aborted transaction says which statement aborted it', async () => {
  const { outbox, dataSource } = await start();
  const publishing = dataSource.transaction(async (manager) => {
    await outbox.publish(manager, { topic: 't', payload: 1 });
    await swallow(manager);
    await outbox.publish(manager, { topic: 't', payload: 2 });
  });
  await expect(publishing).rejects.toMatchObject({
    code: 'SAGA_TRANSACTION',
    cause: { code: '23505' },
  });
  expect(await apps.outboxRows()).toEqual([]);
});
