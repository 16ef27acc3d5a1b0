import { randomUUID as uuid } from 'node:crypto';
import { type INestApplicationContext, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import fc from 'fast-check';
import { Saga, SagaModule, SagaOperations, SagaService, Step, WaitFor } from '../../libs/saga/src/index.js';
import { type RandomGraph, randomGraphs } from '../oracle/random-graph.js';
import { SagaRuntime } from '../../libs/saga/src/nest/saga.runtime.js';
import { definable, planOf } from '../graphs/definable-graph.js';
import { HeldCalls } from '../graphs/held-calls.js';
import { OperatedSaga } from '../graphs/operated-saga.js';
import { sideBySide } from '../graphs/side-by-side.js';
import { finalChecks } from '../graphs/final-checks.js';
import { plannedSaga } from './programs/planned-saga.js';
import { type ChaosDatabases, createChaosDatabases } from './support/chaos-databases.js';
import { wrongWithEffects, writtenTwice } from './support/check-effects.js';
import { GraphWorkerProcess, isHeldBy } from './support/graph-worker-process.js';

/** More of them: GRAPH_RUNS=200; others: GRAPH_SEED, with the seed of a message the same again. */
const RUNS = Number(process.env.GRAPH_RUNS ?? 20);
const SEED = Number(process.env.GRAPH_SEED ?? 1);
const PROCESSES = 3;
const KILLS = 8;

describe(`workers are killed with SIGKILL while they run random graphs (GRAPH_SEED=${SEED})`, () => {
  let databases: ChaosDatabases;
  let operator: INestApplicationContext;
  const workers: GraphWorkerProcess[] = [];
  const calls = new HeldCalls();
  const sagas = fc
    .sample(randomGraphs, { numRuns: RUNS, seed: SEED })
    .map(({ graph, moves }): RandomGraph => ({ graph: definable(graph), moves }));
  const plans = sagas.map(({ graph }, n) => planOf(`saga-${n}`, graph));
  const types = plans.map((plan) => plannedSaga(plan, calls.perform, { Saga, Step, WaitFor }));

  beforeAll(async () => {
    databases = await createChaosDatabases();
    operator = await startOperator();
    for (let n = 0; n < PROCESSES; n += 1) workers.push(await startWorker());
  }, 120_000);

  afterAll(async () => {
    await Promise.all(workers.map((worker) => worker.kill()));
    await operator.close();
    await databases.drop();
  });

  test(`${KILLS} kills over ${RUNS} sagas in ${PROCESSES} processes, each at calls that are held: all of them go on as they should, and every effect stands or is undone`, async () => {
    const played = sagas.map((saga) => {
      const id = uuid();
      return new OperatedSaga(
        saga,
        id,
        calls.of(id),
        () => stored(id),
        () => ({ sagas: operator.get(SagaService), operations: operator.get(SagaOperations) }),
      );
    });
    await Promise.all(played.map(({ id }, n) => operator.get(SagaService).start(types[n]!, {}, { id })));
    let hit = 0;
    for (let kill = 0; kill < KILLS; kill += 1) {
      await sideBySide(played, (one, n) => one.play((n + kill) % 5));
      hit += await killOne(kill, played);
    }
    await sideBySide(played, (one) => one.play());
    expect(played.flatMap((one, n) => finalChecks(sagas[n]!, one, SEED) ?? [])).toEqual([]);
    for (const [n, saga] of played.entries()) {
      const wrong = await wrongWithEffects(databases.participants, sagas[n]!, saga);
      expect(wrong.map((what) => `${what}\n${saga.story()}`)).toEqual([]);
    }
    expect(await writtenTwice(databases.sagas)).toEqual([]);
    expect(hit).toBeGreaterThan(0);
  }, 600_000);

  /** Kills the busiest worker at the calls that it holds, some of which took effect, and puts another in its place. */
  async function killOne(kill: number, played: readonly OperatedSaga[]): Promise<number> {
    const strikes = (worker: GraphWorkerProcess) =>
      played.filter(({ held }) => held.some(({ call }) => isHeldBy(worker, call)));
    const victim = workers.toSorted((a, b) => strikes(b).length - strikes(a).length)[0]!;
    const struck = strikes(victim);
    const done = struck
      .flatMap(({ held }) => held)
      // What a transaction did is gone with it; and what a probe will say has to be true.
      .filter(
        ({ attempt: { node, kind } }) => node.probe === undefined && kind !== 'probe' && !node.transactional,
      )
      .filter((_, n) => (n + kill) % 2 === 0);
    await Promise.all(done.flatMap(({ call }) => (isHeldBy(victim, call) ? [call.apply()] : [])));
    await victim.kill();
    for (const saga of struck) saga.crashed();
    // As if the time of its leases had passed.
    await databases.sagas.query(
      `UPDATE saga.instance SET due_at = now(), rank_at = now() WHERE locked_by LIKE '%:' || $1::text || ':%'`,
      [victim.pid],
    );
    workers[workers.indexOf(victim)] = await startWorker();
    return struck.length;
  }

  function startWorker(): Promise<GraphWorkerProcess> {
    return GraphWorkerProcess.start(databases.environment, plans, (id) => calls.of(id));
  }

  /** Starts the sagas and acts on them, and runs none. */
  async function startOperator(): Promise<INestApplicationContext> {
    @Module({
      imports: [
        TypeOrmModule.forRoot({ type: 'postgres', url: databases.environment.DATABASE_URL }),
        SagaModule.forRoot({ worker: false }),
      ],
      providers: types,
    })
    class OperatorModule {}
    return NestFactory.createApplicationContext(OperatorModule, { logger: false });
  }

  async function stored(id: string) {
    const { engine } = await operator.get(SagaRuntime, { strict: false }).ready();
    return (await engine.load({ id }))!.state;
  }
});
