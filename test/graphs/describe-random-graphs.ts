import { randomUUID as uuid } from 'node:crypto';
import type { INestApplicationContext, Type } from '@nestjs/common';
import fc from 'fast-check';
import {
  Saga,
  type SagaModuleOptions,
  type SagaOperations,
  type SagaService,
  Step,
  WaitFor,
} from '../../libs/saga/src/index.js';
import { SagaRuntime } from '../../libs/saga/src/nest/saga.runtime.js';
import { plannedSaga } from '../chaos/programs/planned-saga.js';
import { randomGraphs, type RandomGraph } from '../oracle/random-graph.js';
import { definable, planOf } from './definable-graph.js';
import { finalChecks } from './final-checks.js';
import { HeldCalls } from './held-calls.js';
import { MAX_TAKEOVERS } from './lockstep-saga.js';
import { OperatedSaga } from './operated-saga.js';
import { sideBySide } from './side-by-side.js';

/** More of them: GRAPH_RUNS=1000; others: GRAPH_SEED, with the seed of a message the same again. */
const RUNS = Number(process.env.GRAPH_RUNS ?? 100);
const SEED = Number(process.env.GRAPH_SEED ?? 1);
/** Sagas of one application, side by side. */
const AT_ONCE = 20;

export interface GraphApp {
  readonly nest: INestApplicationContext;
  readonly sagas: SagaService;
  readonly operations: SagaOperations;
  close(): Promise<void>;
}

interface Cast {
  readonly saga: RandomGraph;
  readonly type: Type;
}

/**
 * Plays random graphs in applications, beside a model of what each may do.
 * @param start starts an application that has these sagas
 */
export function describeRandomGraphs(
  start: (sagas: Type[], options: SagaModuleOptions) => Promise<GraphApp>,
): void {
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
        const open = () =>
          start(
            cast.map(({ type }) => type),
            { worker: { shutdownTimeout: 1, maxTakeovers: MAX_TAKEOVERS } },
          );
        let app = await open();
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
        app = await open();
        await sideBySide(played, (one) => one.play());
        await sideBySide(played, (one) => one.endLate());
        expect(played.flatMap((one, n) => finalChecks(cast[n]!.saga, one, SEED) ?? [])).toEqual([]);
        const outcomes = await Promise.all(played.map(({ id }) => app.sagas.wait(id)));
        expect(outcomes.map(({ status }) => status)).toEqual(played.map(({ end }) => end.status));
      },
      300_000,
    );
  });
}

/** A graph as a class may have it; every other saga is cancelled at some moment. */
function scene({ graph, moves }: RandomGraph, n: number): RandomGraph {
  const cancel = { kind: 'cancel', pick: 0, random: 0 } as const;
  return { graph: definable(graph), moves: n % 2 === 0 ? moves : moves.toSpliced((n * 5) % 23, 0, cancel) };
}

async function stored({ nest }: GraphApp, id: string) {
  const { engine } = await nest.get(SagaRuntime, { strict: false }).ready();
  return (await engine.load({ id }))!.state;
}
