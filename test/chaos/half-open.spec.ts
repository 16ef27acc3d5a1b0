import {
  Saga,
  type SagaModuleOptions,
  Step,
  type StepContext,
  type TransactionalStepContext,
} from '../../libs/saga/src/index.js';
import { Gate, until } from '../support/gate.js';
import { TestApps } from '../support/test-app.js';
import { TcpProxy } from './rig/src/tcp-proxy.js';

/**
 * Without a bound of the engine's own, each of these would wait for as long as TCP does: many minutes, or for
 * ever.
 */
const PATIENCE = 30_000;

describe('a connection to PostgreSQL goes silent, and stays open', () => {
  let proxy: TcpProxy;
  // Before the applications: a pool that is closed waits for the other side of its connections.
  afterEach(() => proxy.close());
  const apps = TestApps.onOwnDatabase();

  beforeEach(async () => {
    const { hostname, port } = new URL(apps.url);
    proxy = await TcpProxy.before({ host: hostname, port: Number(port) });
  });

  const through = () => {
    const url = new URL(apps.url);
    url.hostname = '127.0.0.1';
    url.port = String(proxy.port);
    return { url: url.href };
  };
  const impatient: SagaModuleOptions = { worker: { lease: '3s', pollInterval: '50ms' } };
  const scene = () => {
    const inStep = new Gate();
    const goOn = new Gate();
    const ran: string[] = [];
    @Saga({ name: 'order' })
    class Order {
      @Step() async reserve({ idempotencyKey }: StepContext) {
        ran.push(idempotencyKey);
        inStep.open();
        await goOn.opened;
      }
      @Step() ship({ idempotencyKey }: StepContext) {
        ran.push(idempotencyKey);
      }
    }
    return { Order, ran, inStep, goOn };
  };

  test(
    'while a step is running: its lease is kept, its checkpoint is sent again, and it does not run twice',
    async () => {
      const { Order, ran, inStep, goOn } = scene();
      const app = await apps.start({ sagas: [Order], options: impatient, dataSource: through() });
      const handle = await app.sagas.start(Order, {});
      await inStep.opened;
      proxy.forget();
      goOn.open();
      expect((await handle.outcome()).status).toBe('completed');
      expect(ran).toEqual([`${handle.id}:reserve`, `${handle.id}:ship`]);
    },
    PATIENCE,
  );

  test(
    'and new ones as well for a while: start(), claims and outcome() go on once the network does',
    async () => {
      const { Order, goOn } = scene();
      goOn.open();
      const app = await apps.start({ sagas: [Order], options: impatient, dataSource: through() });
      proxy.forget();
      proxy.treat({ kind: 'drop' });
      const started = Promise.all(Array.from({ length: 20 }, () => app.sagas.start(Order, {})));
      // All of its connections, and those that it makes for the same starts.
      await until(() => proxy.silent >= 5);
      proxy.heal();
      const outcomes = await Promise.all((await started).map(({ outcome }) => outcome()));
      expect(outcomes.filter(({ status }) => status !== 'completed')).toEqual([]);
    },
    PATIENCE,
  );

  test(
    'with the COMMIT of a transactional step: its locks are released, and its writes are stored once',
    async () => {
      await apps.sql('CREATE TABLE IF NOT EXISTS booking (saga uuid)');
      let tries = 0;
      @Saga({ name: 'booking', retry: { attempts: 1 } })
      class Booking {
        @Step({ transactional: true }) async book({ manager, sagaId }: TransactionalStepContext) {
          tries += 1;
          await manager.query('INSERT INTO booking VALUES ($1)', [sagaId]);
          if (tries === 1) proxy.forgetAt('COMMIT');
        }
      }
      const app = await apps.start({ sagas: [Booking], options: impatient, dataSource: through() });
      const { id, outcome } = await app.sagas.start(Booking, {});
      expect((await outcome()).status).toBe('completed');
      expect(tries).toBe(2);
      expect(await apps.sql('SELECT saga FROM booking')).toEqual([{ saga: id }]);
    },
    PATIENCE,
  );

  test(
    'with a statement of a transactional step: its timeout ends the attempt, and the next one does the work',
    async () => {
      await apps.sql('CREATE TABLE IF NOT EXISTS entry (saga uuid)');
      @Saga({ name: 'entry' })
      class Entry {
        @Step({ transactional: true, timeout: '1s' }) async write(ctx: TransactionalStepContext) {
          if (ctx.attempt === 1) proxy.forgetAt('INSERT INTO entry');
          await ctx.manager.query('INSERT INTO entry VALUES ($1)', [ctx.sagaId]);
        }
      }
      const app = await apps.start({ sagas: [Entry], options: impatient, dataSource: through() });
      const { id, outcome } = await app.sagas.start(Entry, {});
      expect((await outcome()).status).toBe('completed');
      expect(await apps.sql('SELECT saga FROM entry')).toEqual([{ saga: id }]);
    },
    PATIENCE,
  );

  test(
    'and it is the one that listens: this is noticed, and what was missed is looked for',
    async () => {
      const { Order, goOn } = scene();
      goOn.open();
      const web = await apps.start({ sagas: [Order], options: { worker: false } });
      const app = await apps.start({ sagas: [Order], options: impatient, dataSource: through() });
      app.stopPolling();
      proxy.forget();
      const { outcome } = await web.sagas.start(Order, {});
      expect((await outcome()).status).toBe('completed');
    },
    PATIENCE,
  );
});
