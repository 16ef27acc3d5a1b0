import {
  concernsStatement,
  refusesData,
} from '../../libs/saga/src/store/postgres/connection/transient-errors.js';
import { SQLSTATES } from '../fixtures/sqlstates.js';
import type { Answer } from './answering-proxy.js';
import { OutageScene } from './outage-scene.js';
import { pause } from './gate.js';
import type { TestApps } from './test-app.js';
import { EachOnce, kindOf } from './unknown-answers.js';

/** An operator works with each of these steps. */
const STEPS = ['charge', 'book', 'pack', 'ship'];

/** How often everything is done at least: until each of its statements has been sent. */
const MIN_ROUNDS = 10;

/** How long (ms) a caller may be answered with errors: it repeats a call for 30 s, and then it fails, as in any outage. */
const PATIENCE = 15_000;

/** Answers without a SQLSTATE. */
export const NO_CODE: readonly Answer[] = [{}, { severity: 'FATAL' }];

/** The SQLSTATEs that refuse data. */
export const REFUSALS = SQLSTATES.filter((code) => refusesData({ code }));

/** All other SQLSTATEs. */
export const OUTAGES: readonly Answer[] = SQLSTATES.filter((code) => !REFUSALS.includes(code)).map(
  (code) => ({
    code,
  }),
);

/** One of each class. */
export const ONE_OF_EACH_CLASS: readonly Answer[] = [
  ...new Map(OUTAGES.map((answer) => [answer.code!.slice(0, 2), answer])).values(),
];

/** Those that were seen in the field. */
export const SEEN: readonly Answer[] = ['25P04', '28P01', '42501', '53400', '57P04', '58030', 'XX000'].map(
  (code) => ({ code }),
);

/** Each of these answers in place of a result, and after the statement was executed. */
export const bothWays = (answers: readonly Answer[]): Answer[] =>
  answers.flatMap((answer) => [answer, { ...answer, isExecuted: true }]);

/** The result of a run. */
export interface Outcome {
  readonly statuses: Record<string, number>;
  readonly problems: readonly string[];
  readonly started: number;
  /** How often a statement of each kind was answered. */
  readonly kinds: ReadonlyMap<string, number>;
  /** The steps of which an attempt failed. */
  readonly failed: readonly string[];
}

/**
 * Runs orders and what operators do, each kind of statement being answered once with each of its answers, until each kind has been
 * that is sent time and again. What is sent less than once in a round is answered as often as it is sent.
 * @param steps for each of which there is an operator
 */
export function answeredOnce(
  apps: TestApps,
  answersOf: (kind: string) => readonly Answer[],
  steps: readonly string[] = STEPS,
): Promise<Outcome> {
  return inScene(apps, '2s', async (scene) => {
    const each = new EachOnce(answersOf);
    /** When what each caller does now began. */
    const began = new Map<object, number>();
    const isPatient = () => [...began.values()].every((time) => performance.now() - time < PATIENCE);
    scene.proxy.answerTo = (text) => (isPatient() ? each.answerTo(text) : undefined);
    let rounds = 0;
    let hasFailed = false;
    const isOver = () => hasFailed || (rounds >= MIN_ROUNDS && each.unfinished(rounds).length === 0);
    const again = async (work: () => Promise<void>, isRound: boolean) => {
      try {
        for (; !isOver(); rounds += Number(isRound)) {
          began.set(work, performance.now());
          await work();
        }
      } catch (error) {
        hasFailed = true;
        throw error;
      } finally {
        began.delete(work);
      }
    };
    // One by one: what is sent at the same time shares a statement.
    await Promise.all([
      again(() => scene.startOrders(1), steps.length === 0),
      ...steps.map((step) => again(() => scene.operate(step), true)),
    ]);
    return each.given;
  });
}

/** Runs orders, every statement and every client that connects being answered so for a while (ms), each answer in turn. */
export function answeredFor(apps: TestApps, time: number, answers: readonly Answer[]): Promise<Outcome> {
  return inScene(apps, '20s', async (scene) => {
    const kinds = new Map<string, number>();
    for (const answer of answers) {
      const orders = scene.startOrders(10);
      await pause(50);
      scene.proxy.answerTo = (text) => {
        const kind = kindOf(text);
        if (kind === undefined || (kind === 'COMMIT' && concernsStatement(answer))) return undefined;
        kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
        return answer;
      };
      scene.proxy.answerToConnecting = () => answer;
      const others = scene.startOrders(10);
      await pause(time);
      scene.proxy.answerTo = () => undefined;
      scene.proxy.answerToConnecting = () => undefined;
      await Promise.all([orders, others]);
    }
    return kinds;
  });
}

async function inScene(
  apps: TestApps,
  lease: string,
  run: (scene: OutageScene) => Promise<ReadonlyMap<string, number>>,
): Promise<Outcome> {
  const scene = await OutageScene.open(apps, lease);
  try {
    const kinds = await run(scene);
    scene.proxy.answerTo = () => undefined;
    const statuses = await scene.statuses();
    const problems = await scene.problems();
    const failed = await apps.sql<{ name: string }>(
      'SELECT DISTINCT name FROM saga.step WHERE errors IS NOT NULL ORDER BY name',
    );
    return { statuses, problems, started: scene.started, kinds, failed: failed.map(({ name }) => name) };
  } finally {
    await scene.close();
  }
}
