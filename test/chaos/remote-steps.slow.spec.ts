import { SagaService } from 'nestjs-durable-saga';
import { RemoteOrderSaga } from './programs/remote.saga.js';
import {
  type ChaosDatabases,
  createChaosDatabases,
  eventually,
  unfinished,
} from './support/chaos-databases.js';
import { createStarter } from './support/starter-app.js';
import { firstToHold, WorkerProcess } from './support/worker-process.js';

const ORDERS_A_KILL = 20;
/** Where the processes die: those of the saga, and those of the handler. */
const HELD = ['pay', 'reserve', 'confirm', 'undo reserve', 'undo pay', 'reserve', 'undo reserve'];
/** Those of the saga, and those of the handler. */
const ROLES = ['shop', 'shop', 'stock', 'stock'] as const;

interface Order {
  id: string;
  status: string;
  handler_status: string;
  calls_of_handler: number;
  input: { n: number; refused: boolean };
  /** Steps that may have been running when a worker was lost. */
  unknown: string[];
  /** Where its remote step says that it ran. */
  by: number | null;
  effects: { what: string; calls: number; by: number | null }[];
}

describe('processes are killed, those of a saga and those of the handler that it asks', () => {
  let databases: ChaosDatabases;
  let workers: WorkerProcess[] = [];
  /** The output of all processes that ever had the handler. */
  const stockPids: number[] = [];

  async function start(role: (typeof ROLES)[number]): Promise<WorkerProcess> {
    const worker = await WorkerProcess.start({ ...databases.environment, ROLE: role });
    if (role === 'stock') stockPids.push(worker.pid);
    return worker;
  }

  beforeAll(async () => {
    databases = await createChaosDatabases();
    workers = await Promise.all(ROLES.map(start));
  }, 60_000);

  afterAll(async () => {
    await Promise.all(workers.map((worker) => worker.kill()));
    await databases.drop();
  });

  test('every order ends, each step was done once and where it belongs, and all of a refused one is undone', async () => {
    const starter = await createStarter(databases, [RemoteOrderSaga]);
    const sagas = starter.get(SagaService);
    for (const [round, held] of HELD.entries()) {
      await Promise.all(
        Array.from({ length: ORDERS_A_KILL }, (_, k) => {
          const refused = k === 0 ? held.startsWith('undo') : k % 3 === 1;
          const input = { n: round * ORDERS_A_KILL + k, refused, held: k === 0 ? held : undefined };
          return sagas.start(RemoteOrderSaga, input, { correlationId: `order-${input.n}` });
        }),
      );
      const victim = await firstToHold(workers);
      expect(ROLES[victim]).toBe(held.endsWith('reserve') ? 'stock' : 'shop');
      await workers[victim]!.kill('SIGKILL');
      workers[victim] = await start(ROLES[victim]!);
    }
    await eventually(
      () => unfinished(databases),
      (rows) => rows.length === 0,
    );
    const found = await orders(databases);
    await starter.close();
    expect(found).toHaveLength(HELD.length * ORDERS_A_KILL);
    expect(found.flatMap((order) => wrongWith(order, stockPids))).toEqual([]);
    // The calls that kills interrupted were made again, with the same key.
    const again = found.flatMap(({ effects }) => effects).filter(({ calls }) => calls > 1);
    for (const held of new Set(HELD)) expect(again.map(({ what }) => what)).toContain(held);
  }, 240_000);
});

function wrongWith(order: Order, stockPids: readonly number[]): string[] {
  const { id, status, handler_status, calls_of_handler, input, unknown, effects, by } = order;
  const expected = input.refused
    ? ['compensated', 'compensated', 'pay, reserve, undo reserve, undo pay']
    : ['completed', 'completed', 'pay, reserve, confirm'];
  const names = effects.map(({ what }) => what);
  // Steps with an unknown outcome are compensated as well.
  const inVain = unknown.filter((step) => !names.includes(step)).map((step) => `undo ${step}`);
  const actual = [status, handler_status, names.filter((name) => !inVain.includes(name)).join(', ')];
  const elsewhere = [by, ...effects.filter(({ what }) => what === 'undo reserve').map((effect) => effect.by)];
  const isInPlace = elsewhere.every((pid) => pid !== null && stockPids.includes(pid));
  return calls_of_handler === 1 && isInPlace && actual.join('; ') === expected.join('; ')
    ? []
    : [`${id} ${JSON.stringify(input)}: ${actual.join('; ')}; in ${elsewhere.join()} of ${stockPids.join()}`];
}

/** Each order with its effects, in order, once for each key. The handler receives the order's id. */
async function orders({ sagas, participants }: ChaosDatabases): Promise<Order[]> {
  const { rows: effects } = await participants.query<Order['effects'][number] & { saga_id: string }>(
    `SELECT saga_id, CASE WHEN compensation THEN 'undo ' ELSE '' END || step AS what, calls, known_result::int AS by
     FROM effect ORDER BY seq`,
  );
  const { rows } = await sagas.query<Order>(
    `SELECT p.id, p.status, p.input, min(c.status) AS handler_status, count(c.id)::int AS calls_of_handler,
       (SELECT (s.result->>'by')::int FROM saga.step s WHERE s.saga_id = p.id AND s.name = 'reserve') AS by,
       (SELECT coalesce(array_agg(s.name), '{}') FROM saga.step s WHERE s."unknown" AND s.saga_id = p.id) AS unknown
     FROM saga.instance p LEFT JOIN saga.instance c ON c.parent_id = p.id AND c.name = 'handler:chaos.reserve'
     WHERE p.name = 'remote-order' GROUP BY p.id`,
  );
  return rows.map((row) => ({ ...row, effects: effects.filter((effect) => effect.saga_id === row.id) }));
}
