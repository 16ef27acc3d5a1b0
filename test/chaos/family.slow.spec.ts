import { SagaService } from 'nestjs-durable-saga';
import { FamilyOrderSaga, FamilyShipmentSaga } from './programs/family.saga.js';
import { type ChaosDatabases, eventually, unfinished } from './support/chaos-databases.js';
import { createStarter } from './support/starter-app.js';
import { WorkerFleet } from './support/worker-fleet.js';
import { firstToHold } from './support/worker-process.js';

const PROCESSES = 3;
const ORDERS_A_KILL = 20;
/** Where the workers die: in the steps of either saga, and in undoing them. */
const HELD = ['pay', 'pack', 'send', 'confirm', 'undo send', 'undo pack', 'undo pay'];

interface Family {
  id: string;
  status: string;
  child_status: string | null;
  children: number;
  input: { n: number; refused: boolean; undeliverable: boolean };
  /** Steps of either saga that may have been running when a worker was lost. */
  unknown: string[];
  effects: string[];
}

describe('workers are killed in the steps of sagas that wait for sagas, and in undoing them', () => {
  let fleet: WorkerFleet;

  beforeAll(async () => {
    fleet = await WorkerFleet.start(PROCESSES);
  }, 60_000);

  afterAll(() => fleet.end());

  test('each order has one shipment; both are done, or both are undone, in order and once', async () => {
    const { databases, workers } = fleet;
    const starter = await createStarter(databases, [FamilyOrderSaga, FamilyShipmentSaga]);
    const sagas = starter.get(SagaService);
    for (const [round, held] of HELD.entries()) {
      await Promise.all(
        Array.from({ length: ORDERS_A_KILL }, (_, k) => {
          const undoes = held.startsWith('undo');
          const input = {
            n: round * ORDERS_A_KILL + k,
            refused: k === 0 ? undoes : k % 3 === 1,
            undeliverable: k > 0 && k % 5 === 0,
            held: k === 0 ? held : undefined,
          };
          return sagas.start(FamilyOrderSaga, input, { correlationId: `order-${input.n}` });
        }),
      );
      const victim = await firstToHold(workers);
      await fleet.replace(victim);
    }
    await eventually(
      () => unfinished(databases),
      (rows) => rows.length === 0,
    );
    const found = await families(databases);
    await starter.close();
    expect(found).toHaveLength(HELD.length * ORDERS_A_KILL);
    expect(found.flatMap(wrongWith)).toEqual([]);
  }, 240_000);
});

function wrongWith({ id, status, child_status, children, input, effects, unknown }: Family): string[] {
  const expected = input.undeliverable
    ? ['compensated', 'compensated', 'pay, pack, undo pack, undo pay']
    : input.refused
      ? ['compensated', 'compensated', 'pay, pack, send, undo send, undo pack, undo pay']
      : ['completed', 'completed', 'pay, pack, send, confirm'];
  // Steps with an unknown outcome are compensated as well.
  const inVain = unknown.filter((step) => !effects.includes(step)).map((step) => `undo ${step}`);
  const certain = effects.filter((effect) => !inVain.includes(effect));
  const actual = [status, child_status ?? 'none', certain.join(', ')];
  return children === 1 && actual.join('; ') === expected.join('; ')
    ? []
    : [`${id} ${JSON.stringify(input)}: ${actual.join('; ')}; ${children} shipments`];
}

/** Each order with its shipment and with what was done for both, in order, once for each key. */
async function families({ sagas, participants }: ChaosDatabases): Promise<Family[]> {
  const { rows: effects } = await participants.query<{ saga_id: string; what: string; seq: string }>(
    `SELECT saga_id, CASE WHEN compensation THEN 'undo ' ELSE '' END || step AS what, seq FROM effect ORDER BY seq`,
  );
  const { rows } = await sagas.query<Family & { child_id: string | null }>(
    `SELECT p.id, p.status, p.input, (array_agg(c.id))[1] AS child_id, min(c.status) AS child_status,
       count(c.id)::int AS children,
       (SELECT coalesce(array_agg(s.name), '{}') FROM saga.step s
        WHERE s."unknown" AND s.saga_id IN (p.id, (array_agg(c.id))[1])) AS unknown
     FROM saga.instance p LEFT JOIN saga.instance c ON c.parent_id = p.id
     WHERE p.name = 'family-order' GROUP BY p.id`,
  );
  return rows.map((row) => ({
    ...row,
    effects: effects.filter((e) => e.saga_id === row.id || e.saga_id === row.child_id).map((e) => e.what),
  }));
}
