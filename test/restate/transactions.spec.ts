import type { DataSource, EntityManager } from 'typeorm';
import { CommittedCalls } from '../../libs/restate/src/committed-calls.js';
import { toText } from '../../libs/restate/src/stored-text.js';
import { StepCommits } from '../../libs/restate/src/step-commits.js';
import { openRestate, type RestateBackend } from '../../libs/restate/src/restate-backend.js';
import type { Checkpoint } from '../../libs/saga/src/engine/ports/checkpoint.js';
import type { StoredSaga } from '../../libs/saga/src/engine/ports/stored-saga.js';
import {
  checkpointOf,
  claimed,
  cleanUp,
  held,
  lastCheckpointOf,
  LEASE_MS,
  loaded,
  newSaga,
  OTHER_WORKER,
  stateOf,
  stepOf,
  type StoreSubject,
  WORKER,
} from '../contract/store-subject.contract.js';
import { RestateServer, restateProgram } from '../../libs/demo-support/src/restate/restate-server.js';
import { Gate, until } from '../support/gate.js';
import { type ApplicationDatabase, applicationDatabase } from './application-database.js';
import '../support/with-resolvers.mjs';

const SILENT = { debug() {}, log() {}, warn() {}, error() {} };
const program = restateProgram();
let server: RestateServer;
let database: ApplicationDatabase;
let application: DataSource;
let backend: RestateBackend;
let passed = 0;
const errors: string[] = [];

if (!program) test.skip('There is no Restate server for this platform on npm', () => undefined);
else {
  beforeAll(async () => {
    server = await RestateServer.start(program);
    database = await applicationDatabase();
    ({ application } = database);
    await application.query('CREATE TABLE payment (saga uuid NOT NULL)');
    const log = { ...SILENT, error: (message: string) => void errors.push(message) };
    backend = await openRestate(
      { ingress: server.ingress, admin: server.admin, port: 0 },
      {
        ...{ worker: 'worker-1', patience: 20_000, log, own: database.own },
        relayed: (message) => message,
        now: () => Date.now() + passed,
      },
    );
  });
  afterAll(async () => {
    await backend?.close();
    await server?.stop();
    await database?.drop();
  });

  const pay = (manager: unknown, { id }: { readonly id: string }) =>
    (manager as EntityManager).query('INSERT INTO payment VALUES ($1)', [id]);
  const payments = async ({ id }: { readonly id: string }): Promise<number> =>
    (await application.query<unknown[]>('SELECT FROM payment WHERE saga = $1', [id])).length;
  const paid = (saga: StoredSaga, given: Partial<Checkpoint> = {}): Checkpoint =>
    checkpointOf(saga, stateOf('running', { pay: stepOf({ result: '"paid"' }) }), given);
  /** As by a process that ends before Restate has the answer. */
  const payOnly = (saga: StoredSaga, given?: Partial<Checkpoint>) =>
    new StepCommits(database.own).transact(async ({ manager }) => {
      await pay(manager, saga);
      return paid(saga, given);
    }, saga);
  const leaseEnds = async (): Promise<void> => {
    passed += 2 * LEASE_MS;
    await backend.offerAll();
    await server.settled();
  };
  const resultOf = async ({ id }: StoredSaga): Promise<string | undefined> =>
    (await loaded(backend.store, id)).state.steps.get('pay')?.result;

  describe('what the transaction of a step has committed, and Restate was not given', () => {
    test('is recorded before another worker runs the saga', async () => {
      const { store } = backend;
      const saga = await held(store);
      expect(await payOnly(saga)).toBe('saved');
      expect(await resultOf(saga)).toBeUndefined();
      await leaseEnds();
      const [next] = (await claimed(store, saga.name, 1, OTHER_WORKER)).sagas;
      expect(next?.state.steps.get('pay')?.result).toBe('"paid"');
      expect(await payments(saga)).toBe(1);
    });

    test('is recorded before the saga is cancelled, so that the step is undone', async () => {
      const { store } = backend;
      const saga = await held(store);
      await payOnly(saga);
      const seen: (string | undefined)[] = [];
      await store.edit({ id: saga.id }, ({ state }) => {
        seen.push(state.steps.get('pay')?.result);
        return { requestCancel: { reason: 'changed my mind' } };
      });
      expect(seen).toEqual(['"paid"']);
      expect(await loaded(store, saga.id)).toMatchObject({ cancelRequested: { reason: 'changed my mind' } });
      expect(await resultOf(saga)).toBe('"paid"');
    });

    test('is recorded although the saga was cancelled meanwhile, which its worker learns of by the next checkpoint', async () => {
      const { store } = backend;
      const saga = await held(store);
      const committed = await store.transact(async ({ manager }) => {
        await pay(manager, saga);
        await store.edit({ id: saga.id }, () => ({ requestCancel: {} }));
        return paid(saga);
      }, saga);
      expect(committed).toBe('saved');
      expect(await resultOf(saga)).toBe('"paid"');
      expect(await store.checkpoint([lastCheckpointOf(saga)])).toEqual(['cancelled']);
    });

    test('is recorded once, and does not undo what came after it', async () => {
      const { store } = backend;
      const saga = await held(store);
      await payOnly(saga);
      const shipped = checkpointOf(saga, stateOf('running', { pay: stepOf({ result: '"shipped"' }) }));
      expect(await store.checkpoint([shipped])).toEqual(['saved']);
      await leaseEnds();
      const [next] = (await claimed(store, saga.name, 1, OTHER_WORKER)).sagas;
      expect(next?.state.steps.get('pay')?.result).toBe('"shipped"');
    });

    test('is recorded by who takes the saga next if the database could not be asked at the first claim', async () => {
      const { store } = backend;
      const saga = await held(store);
      await payOnly(saga);
      await leaseEnds();
      await application.query('ALTER TABLE saga.step_commit RENAME TO elsewhere');
      try {
        const claim = claimed(store, saga.name, 1, OTHER_WORKER);
        await expect(claim).rejects.toThrow('step_commit');
      } finally {
        await application.query('ALTER TABLE saga.elsewhere RENAME TO step_commit');
      }
      expect((await loaded(store, saga.id)).lockedBy).toBeUndefined();
      await leaseEnds();
      const [next] = (await claimed(store, saga.name, 1, OTHER_WORKER)).sagas;
      expect(next?.state.steps.get('pay')?.result).toBe('"paid"');
    });
  });

  describe('a transaction of a worker that lost its saga commits nothing', () => {
    test('to another worker', async () => {
      const { store } = backend;
      const saga = await held(store);
      const committed = await store.transact(async ({ manager }) => {
        await pay(manager, saga);
        await leaseEnds();
        expect((await claimed(store, saga.name, 1, OTHER_WORKER)).sagas).toHaveLength(1);
        return paid(saga);
      }, saga);
      expect(committed).toBe('fenced');
      expect(await payments(saga)).toBe(0);
      expect(await resultOf(saga)).toBeUndefined();
    });

    test('to an operator', async () => {
      const { store } = backend;
      const saga = await held(store);
      const committed = await store.transact(async ({ manager }) => {
        await pay(manager, saga);
        await store.edit({ id: saga.id }, () => ({ state: stateOf('aborted'), due: false, step: '' }));
        return paid(saga);
      }, saga);
      expect(committed).toBe('fenced');
      expect(await payments(saga)).toBe(0);
      expect((await loaded(store, saga.id)).state.status).toBe('aborted');
    });

    test('and is deleted since', async () => {
      const { store } = backend;
      const saga = await held(store);
      const committed = await store.transact(async ({ manager }) => {
        await pay(manager, saga);
        await store.checkpoint([lastCheckpointOf(saga)]);
        passed += 1_000;
        await cleanUp(backend as unknown as StoreSubject, saga.name, 0);
        expect(await store.load({ id: saga.id })).toBeUndefined();
        return paid(saga, { number: 1_000_000 });
      }, saga);
      expect(committed).toBe('fenced');
      expect(await payments(saga)).toBe(0);
      expect(await application.query('SELECT FROM saga.step_commit WHERE saga_id = $1', [saga.id])).toEqual(
        [],
      );
    });
  });

  test('an operator’s change and a commit at the same time: the change knows of it, or nothing is committed', async () => {
    const { store } = backend;
    for (let round = 0; round < 10; round += 1) {
      const saga = await held(store);
      const [result] = await Promise.all([
        store.transact(async ({ manager }) => {
          await pay(manager, saga);
          return paid(saga);
        }, saga),
        store.edit({ id: saga.id }, ({ state }) => ({
          state: { ...state, status: 'paused' },
          due: false,
          step: '',
        })),
      ]);
      const stored = await loaded(store, saga.id);
      expect(stored.state.status).toBe('paused');
      const isPaid = stored.state.steps.get('pay')?.result === '"paid"';
      expect({ paid: await payments(saga), result: result === 'saved' }).toEqual({
        paid: isPaid ? 1 : 0,
        result: isPaid && result === 'saved',
      });
    }
  });

  describe('a start in a transaction', () => {
    test('is there as soon as that has committed, by its id and by its correlation id', async () => {
      const { store } = backend;
      const [byId, byCorrelation] = [newSaga(), newSaga({ correlationId: 'order-1' })];
      for (const saga of [byId, byCorrelation])
        await application.transaction(async (manager) => {
          expect(await store.startWithin(manager, saga, WORKER)).toMatchObject({ created: true });
          expect(await store.load({ id: saga.id })).toBeUndefined();
        });
      expect(await store.load({ id: byId.id })).toMatchObject({ id: byId.id });
      const { name } = byCorrelation;
      expect(await store.load({ name, correlationId: 'order-1' })).toMatchObject({ id: byCorrelation.id });
      await until(async () => (await application.query('SELECT FROM saga.committed_call')).length === 0);
    });

    test('is not made if the transaction is rolled back', async () => {
      const { store } = backend;
      const saga = newSaga();
      const rolledBack = application.transaction(async (manager) => {
        await store.startWithin(manager, saga, WORKER);
        throw new Error('no');
      });
      await expect(rolledBack).rejects.toThrow('no');
      expect(await store.load({ id: saga.id })).toBeUndefined();
    });

    test('finds the saga that exists, by its id and by its correlation id, in Restate or in another transaction', async () => {
      const { store } = backend;
      const name = newSaga().name;
      const first = newSaga({ name, correlationId: 'one' });
      await store.start([first], WORKER);
      const existing = { created: false, existing: { id: first.id } };
      await application.transaction(async (manager) => {
        expect(await store.startWithin(manager, first, WORKER)).toMatchObject(existing);
        const other = newSaga({ name, correlationId: 'one' });
        expect(await store.startWithin(manager, other, WORKER)).toMatchObject(existing);
        const next = newSaga({ name, correlationId: 'two' });
        expect(await store.startWithin(manager, next, WORKER)).toMatchObject({ created: true });
        const again = newSaga({ name, correlationId: 'two' });
        const found = { created: false, existing: { id: next.id } };
        expect(await store.startWithin(manager, again, WORKER)).toMatchObject(found);
      });
      expect(await store.load({ name, correlationId: 'two' })).toBeDefined();
    });

    test('and signals of the same transaction, and of later ones, arrive in order', async () => {
      const { store } = backend;
      const saga = newSaga();
      const signal = (messageId: string) => ({ name: 'paid', messageId, target: { id: saga.id } });
      await application.transaction(async (manager) => {
        await store.startWithin(manager, saga, WORKER);
        expect(await store.signalWithin(manager, signal('1'))).toMatchObject({ outcome: 'kept' });
      });
      await application.transaction(async (manager) => {
        expect(await store.signalWithin(manager, signal('2'))).toMatchObject({ outcome: 'kept' });
      });
      await until(async () => (await store.pendingSignals(saga.id)).length === 2);
      expect((await store.pendingSignals(saga.id)).map(({ messageId }) => messageId)).toEqual(['1', '2']);
    });

    test('is not made again once its saga is deleted', async () => {
      const { store } = backend;
      const saga = newSaga();
      await application.transaction((manager) => store.startWithin(manager, saga, WORKER));
      const [taken] = (await claimed(store, (await loaded(store, saga.id)).name)).sagas;
      await store.checkpoint([lastCheckpointOf(taken!)]);
      passed += 1_000;
      await application.transaction(async (manager) => {
        // No process makes calls meanwhile. One has ended before it could delete the row.
        await manager.query(`SELECT pg_advisory_xact_lock(hashtextextended('"saga".committed_call', 0))`);
        await application.query(
          `INSERT INTO saga.committed_call (saga_id, message_id, call) VALUES ($1, '', $2)`,
          [saga.id, toText({ start: saga })],
        );
        await cleanUp(backend as unknown as StoreSubject, saga.name, 0);
      });
      expect(await application.query('SELECT FROM saga.committed_call')).toEqual([]);
      expect(await store.load({ id: saga.id })).toBeUndefined();
    });

    test('that another start has overtaken by its correlation id is reported in the log', async () => {
      const { store } = backend;
      const name = newSaga().name;
      const [first, other] = [newSaga({ name, correlationId: 'x' }), newSaga({ name, correlationId: 'x' })];
      await application.transaction(async (manager) => {
        await store.startWithin(manager, first, WORKER);
        await store.start([other], WORKER);
      });
      await until(async () => errors.some((error) => error.includes(first.id) && error.includes(other.id)));
      expect(await store.load({ id: first.id })).toBeUndefined();
    });
    test('and is due when its process ends is made by it, or by the next one: it ends with what it has begun', async () => {
      const other = await applicationDatabase();
      const begun: string[] = [];
      const gate = new Gate();
      const calls = new CommittedCalls(
        other.own,
        {
          start: async ({ id }) => {
            begun.push(id);
            await gate.opened;
            return { created: true, leased: false, now: 0 };
          },
          signal: async () => ({ outcome: 'unknown' }),
        },
        SILENT,
      );
      const sagas = Array.from({ length: 150 }, () => newSaga());
      await other.application.transaction((manager) =>
        calls.within(manager, 'A start', async (sql) => {
          for (const saga of sagas) await calls.keep(sql, saga.id, { start: saga });
        }),
      );
      await calls.start();
      await until(() => begun.length === 100);
      const stopped = calls.stop();
      gate.open();
      await stopped;
      const left = await other.application.query<{ saga_id: string }[]>(
        'SELECT saga_id FROM saga.committed_call',
      );
      expect(begun).toHaveLength(100);
      expect([...begun, ...left.map((row) => row.saga_id)].toSorted()).toEqual(
        sagas.map(({ id }) => id).toSorted(),
      );
      await other.drop();
    });
  });
}
