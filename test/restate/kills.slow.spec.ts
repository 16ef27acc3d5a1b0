import { randomUUID } from 'node:crypto';
import { type INestApplicationContext, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import type pg from 'pg';
import { DataSource } from 'typeorm';
import { SagaModule, SagaService } from 'nestjs-durable-saga';
import { restateEngine } from 'nestjs-durable-saga-restate';
import type { KeptSaga } from '../../libs/restate/src/kept-saga.js';
import { fromText } from '../../libs/restate/src/stored-text.js';
import { freePort } from '../../libs/cli/src/postgres/free-port.js';
import { BOOKED_TABLE, BookedSaga } from '../chaos/programs/booked.saga.js';
import { type ChaosOrder, ChaosOrderSaga } from '../chaos/programs/order.saga.js';
import { PARTICIPANT_TABLE, Participants } from '../chaos/programs/participants.js';
import { eventually, quietPool } from '../chaos/support/chaos-databases.js';
import { checkOrdersOf } from '../chaos/support/check-orders.js';
import { startOrders } from '../chaos/support/start-orders.js';
import { firstToHold, WorkerProcess } from '../chaos/support/worker-process.js';
import {
  type KilledServer,
  RestateCluster,
  restateProgram,
  RestateServer,
} from '../../libs/demo-support/src/restate/restate-server.js';
import { createTestDatabase, type TestDatabase } from '../support/test-database.js';
import '../support/with-resolvers.mjs';
import { RequestBalancer } from '../../libs/demo-support/src/restate/request-balancer.js';

const PROCESSES = 3;
/** More of them: KILLS=50. */
const KILLS = Number(process.env.KILLS ?? 6);
/** Sagas started before each kill, so that every kill interrupts running work. */
const SAGAS_A_KILL = 20;
/** Milliseconds. The server needs longer than that until it answers after a kill. */
const LEASE = 5_000;
const SAGAS = KILLS * SAGAS_A_KILL;

/** Milliseconds: the server may take long on a busy machine. */
const PATIENCE = 300_000;

const program = restateProgram();
const describeWhere = program ? describe : describe.skip;

const SERVERS: Record<string, (program: string) => Promise<KilledServer>> = {
  'its server': (path) => RestateServer.start(path),
  'a node of its cluster of three': (path) => RestateCluster.start(path),
};

describeWhere.each(Object.entries(SERVERS))(
  'processes on Restate, and %s, are killed with SIGKILL',
  (_, start) => {
    let server: KilledServer;
    let balancer: RequestBalancer;
    let database: TestDatabase;
    let participants: pg.Pool;
    let starter: INestApplicationContext;
    /** The bookings whose transaction has committed. */
    const begun = new Set<string>();
    let environments: Record<string, string>[];
    let workers: WorkerProcess[];

    beforeAll(async () => {
      [server, database] = await Promise.all([start(program!), createTestDatabase()]);
      participants = quietPool(database.url);
      await participants.query(PARTICIPANT_TABLE);
      await participants.query(BOOKED_TABLE);
      const ports = await Promise.all(Array.from({ length: PROCESSES }, freePort));
      balancer = await RequestBalancer.over(ports);
      environments = ports.map((port) => ({
        ...{ RESTATE_INGRESS: server.ingress, RESTATE_ADMIN: server.admin },
        ...{ RESTATE_PORT: String(port), RESTATE_ADDRESS: balancer.address },
        ...{ DATABASE_URL: database.url, PARTICIPANT_URL: database.url, LEASE: String(LEASE) },
      }));
      workers = await Promise.all(environments.map((environment) => WorkerProcess.start(environment)));
      starter = await startsOnly();
    });
    afterAll(async () => {
      await starter.close();
      await Promise.all(workers.map((worker) => worker.kill()));
      await balancer.close();
      await participants.end();
      await Promise.all([database.drop(), server.stop()]);
    });

    /** An application that starts sagas. Restate calls none of its objects. */
    function startsOnly(): Promise<INestApplicationContext> {
      process.env.PARTICIPANT_URL = database.url;
      const { ingress, admin } = server;
      const engine = restateEngine({ ingress, admin, port: 0, address: balancer.address });
      @Module({
        imports: [
          TypeOrmModule.forRoot({ type: 'postgres', url: database.url }),
          SagaModule.forRoot({ engine, worker: false }),
        ],
        providers: [Participants, ChaosOrderSaga, BookedSaga],
      })
      class StarterModule {}
      return NestFactory.createApplicationContext(StarterModule, { logger: ['error'] });
    }

    test(
      `${KILLS} kills over ${SAGAS} sagas in ${PROCESSES} processes: every saga ends, nothing is doubled, missing or left undone`,
      async () => {
        for (let kill = 0; kill < KILLS; kill += 1) {
          const isOfServer = kill % 3 === 2;
          const inStep = kill % 3 === 0;
          await startOrders(starter.get(SagaService), {
            first: kill * SAGAS_A_KILL,
            count: SAGAS_A_KILL,
            held: inStep,
          });
          await startBookings(kill * SAGAS_A_KILL);
          if (isOfServer) {
            await server.kill();
            await server.restart();
          } else {
            const victim = inStep ? await firstToHold(workers) : kill % PROCESSES;
            await workers[victim]!.kill('SIGKILL');
            workers[victim] = await WorkerProcess.start(environments[victim]!);
          }
        }
        const all = await eventually(
          stored,
          (sagas) => sagas.length === SAGAS + begun.size && sagas.every(hasEnded),
          PATIENCE,
        );
        const [sagas, bookings] = [all.filter(isOrder), all.filter((kept) => !isOrder(kept))];
        expect(await wrongBookings(bookings)).toEqual([]);
        expect(bookings.map(({ row }) => row.saga.id).toSorted()).toEqual([...begun].toSorted());
        const { wrong, repeated } = await checkOrdersOf(rowsOf(sagas), participants);
        expect(wrong).toEqual([]);
        // The calls that kills interrupted were made again, with the same key.
        expect(repeated).toBeGreaterThanOrEqual(KILLS / 3);
      },
      2 * PATIENCE,
    );

    /** In transactions, of which every fourth is rolled back. Some sagas are cancelled at once. */
    async function startBookings(first: number): Promise<void> {
      const source = starter.get(DataSource);
      const sagas = starter.get(SagaService);
      for (let n = first; n < first + SAGAS_A_KILL; n += 1) {
        const id = randomUUID();
        const booking = { n, refused: n % 5 === 0 };
        const committed = source.transaction(async (manager) => {
          await sagas.start(BookedSaga, booking, { id, transaction: manager });
          if (n % 4 === 0) throw new Error('rolled back');
        });
        if (n % 4 === 0) await expect(committed).rejects.toThrow('rolled back');
        else {
          await committed;
          begun.add(id);
          if (n % 7 === 0) await sagas.cancel(id).catch(() => undefined);
        }
      }
    }

    /** What a saga has written, against what it says of itself. */
    async function wrongBookings(bookings: readonly KeptSaga[]): Promise<string[]> {
      const { rows } = await participants.query<{ saga_id: string; entry: string }>('SELECT * FROM booked');
      return bookings.flatMap(({ row: { saga } }) => {
        const { id, state } = saga;
        const entries = rows.filter(({ saga_id }) => saga_id === id).map(({ entry }) => entry);
        const expected = [...state.steps].flatMap(([name, { status }]) => {
          if (status === 'completed') return name;
          return status === 'compensated' ? [name, UNDONE_BY[name]!] : [];
        });
        const isRight = String(entries.toSorted()) === String(expected.toSorted());
        return isRight ? [] : `${id} is ${state.status} after ${entries.join(', ')}`;
      });
    }

    async function stored(): Promise<KeptSaga[]> {
      const query =
        "SELECT value_utf8 AS kept FROM state WHERE service_name = 'DurableSaga' AND key = 'saga'";
      return (await server.query(query)).map(({ kept }) => fromText(String(kept)) as KeptSaga);
    }
  },
);

const UNDONE_BY: Readonly<Record<string, string>> = { reserve: 'unreserve', charge: 'refund' };
const isOrder = ({ row }: KeptSaga) => row.saga.name === 'chaos-order';
const hasEnded = ({ row }: KeptSaga) => ['completed', 'compensated'].includes(row.saga.state.status);

function rowsOf(sagas: readonly KeptSaga[]) {
  return {
    instances: sagas.map(({ row: { saga } }) => ({
      id: saga.id,
      status: saga.state.status,
      input: JSON.parse(saga.input!) as ChaosOrder,
    })),
    steps: sagas.flatMap(({ row: { saga } }) =>
      [...saga.state.steps].map(([name, { status, unknown, result }]) => ({
        ...{ saga_id: saga.id, name, status, unknown },
        result: result === undefined ? null : (JSON.parse(result) as { receipt: string }),
      })),
    ),
  };
}
