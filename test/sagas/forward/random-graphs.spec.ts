import { randomUUID as uuid } from 'node:crypto';
import type { Type } from '@nestjs/common';
import fc from 'fast-check';
import { Saga, Step, WaitFor } from '../../../libs/saga/src/index.js';
import { randomGraphs, type RandomGraph } from '../../oracle/random-graph.js';
import { SagaRuntime } from '../../../libs/saga/src/nest/saga.runtime.js';
import { plannedSaga } from '../../chaos/programs/planned-saga.js';
import { definable, planOf } from '../../graphs/definable-graph.js';
import { HeldCalls } from '../../graphs/held-calls.js';
import { OperatedSaga } from '../../graphs/operated-saga.js';
import { MAX_TAKEOVERS } from '../../graphs/lockstep-saga.js';
import { sideBySide } from '../../graphs/side-by-side.js';
import { finalChecks } from '../../graphs/final-checks.js';
import { type TestApp, TestApps } from '../../support/test-app.js';

/** More of them: GRAPH_RUNS=1000; others: GRAPH_SEED, with the seed of a message the same again. */
const RUNS = Number(process.env.GRAPH_RUNS ?? 100);
const SEED = Number(process.env.GRAPH_SEED ?? 1);
/** Sagas of one application, side by side. */
const AT_ONCE = 20;
/** Transactional steps that are held have a connection each. */
const POOL = 80;

const apps = TestApps.onOwnDatabase();

interface Cast {
  readonly saga: RandomGraph;
  readonly type: Type;
}

describe(`${RUNS} sagas of random graphs in real applications (GRAPH_SEED=${SEED})`, () => {
  const sagas = fc.sample(randomGraphs, { numRuns: RUNS, seed: SEED }).map(scene);
  const companies = Array.from({ length: Math.ceil(RUNS / AT_ONCE) }, (_, n) =>
    sagas.slice(n * AT_ONCE, (n + 1) * AT_ONCE),
  );

  test.each(companies.map((company, n) => [n + 1, company] as const))(
    'call what the machine says, keep what it says, and break no rule: company %i, with a change of workers',
    async (_, company) => {
      const held = new HeldCalls();
      const cast = company.map((saga, n): Cast => {
        return {
          saga,
          type: plannedSaga(planOf(`saga-${n}`, saga.graph), held.perform, { Saga, Step, WaitFor }),
        };
      });
      let app = await start(cast);
      const played = await Promise.all(
        cast.map(async ({ saga, type }) => {
          const id = uuid();
          await app.sagas.start(type, {}, { id });
          return new OperatedSaga(
            saga,
            id,
            held.of(id),
            () => stored(app, id),
            () => app,
          );
        }),
      );
      await sideBySide(played, (one, n) => one.play((n * 7) % 16));
      await app.close();
      for (const one of played) one.interrupted();
      app = await start(cast);
      await sideBySide(played, (one) => one.play());
      await sideBySide(played, (one) => one.endLate());
      expect(played.flatMap((one, n) => finalChecks(cast[n]!.saga, one, SEED) ?? [])).toEqual([]);
      const outcomes = await Promise.all(played.map(({ id }) => app.sagas.wait(id)));
      expect(outcomes.map(({ status }) => status)).toEqual(played.map(({ end }) => end.status));
    },
    300_000,
  );
});

/** A graph as a class may have it; every other saga is cancelled at some moment. */
function scene({ graph, moves }: RandomGraph, n: number): RandomGraph {
  const cancel = { kind: 'cancel', pick: 0, random: 0 } as const;
  return { graph: definable(graph), moves: n % 2 === 0 ? moves : moves.toSpliced((n * 5) % 23, 0, cancel) };
}

function start(cast: readonly Cast[]): Promise<TestApp> {
  return apps.start({
    sagas: cast.map(({ type }) => type),
    options: { worker: { shutdownTimeout: 1, maxTakeovers: MAX_TAKEOVERS } },
    dataSource: { poolSize: POOL },
  });
}

async function stored({ nest }: TestApp, id: string) {
  const { engine } = await nest.get(SagaRuntime, { strict: false }).ready();
  return (await engine.load({ id }))!.state;
}
