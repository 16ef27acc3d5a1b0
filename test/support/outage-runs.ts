import {
  concernsStatement,
  refusesData,
} from '../../libs/saga/src/store/postgres/connection/transient-errors.js';
import { SQLSTATES } from '../fixtures/sqlstates.js';
import type { Answer } from './answering-proxy.js';
import { OutageScene } from './outage-scene.js';
import { pause } from './gate.js';
import { TestApps } from './test-app.js';
import { EachOnce, kindOf } from './unknown-answers.js';

/** An operator works with each of these steps. */
const STEPS = ['charge', 'book', 'pack', 'ship'];

/** How often everything is done at least on each database: until each of its statements has been sent. */
const MIN_ROUNDS = 3;

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
  /** Each with its step, as it is stored. */
  readonly errors: readonly string[];
}

/** As many databases as runs of this file share: what waits on one of them leaves the processors to the others. */
export const ownDatabases = (): TestApps[] => Array.from({ length: 4 }, () => TestApps.onOwnDatabase());

/** Expects that whatever was answered cost time: each order is complete, once, and no attempt of a step failed. */
export function expectTimeOnly({ statuses, started, problems, errors }: Outcome): void {
  expect({ statuses, problems, errors }).toEqual({
    statuses: { completed: started },
    problems: [],
    errors: [],
  });
}

/**
 * Runs orders and what operators do, each kind of statement being answered once with each of its answers, until each kind has been
 * that is sent time and again. What is sent less than once in a round is answered as often as it is sent. The databases share the
 * answers.
 * @param steps for each of which there is an operator
 * @param lease if one ended, as on a machine that is busy for so long, the outcome of a running charge would be unknown
 */
export async function answeredOnce(
  databases: readonly TestApps[],
  answersOf: (kind: string) => readonly Answer[],
  steps: readonly string[] = STEPS,
  lease = '20s',
): Promise<Outcome> {
  const share = (part: number) => (kind: string) =>
    answersOf(kind).filter((_, n) => n % databases.length === part);
  return onEach(databases, (apps, part) => answeredOnceOn(apps, share(part), steps, lease));
}

function answeredOnceOn(
  apps: TestApps,
  answersOf: (kind: string) => readonly Answer[],
  steps: readonly string[],
  lease: string,
): Promise<Outcome> {
  return inScene(apps, lease, async (scene) => {
    const each = new EachOnce(answersOf);
    /** When what each caller does now began. */
    const began = new Map<object, number>();
    const isPatient = () => [...began.values()].every((time) => performance.now() - time < PATIENCE);
    scene.proxy.answerTo = (text) => (isPatient() ? each.answerTo(text) : undefined);
    let rounds = 0;
    let hasFailed = false;
    const seemsOver = () => hasFailed || (rounds >= MIN_ROUNDS && each.unfinished(rounds).length === 0);
    /** On a busy machine rounds are ahead of their orders, whose statements then seem to be sent less than once in a round. */
    const isOver = async (work: object) => {
      if (!seemsOver()) return false;
      began.delete(work);
      if (!hasFailed) await scene.statuses();
      return seemsOver();
    };
    const again = async (work: () => Promise<void>, isRound: boolean) => {
      try {
        for (; !(await isOver(work)); rounds += Number(isRound)) {
          // Operators start orders as well. Others are of use until the kinds that all of them send have been answered.
          if (!isRound && rounds >= MIN_ROUNDS) return;
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
export async function answeredFor(
  databases: readonly TestApps[],
  time: number,
  answers: readonly Answer[],
): Promise<Outcome> {
  const left = [...answers];
  return onEach(databases, (apps) =>
    inScene(apps, '20s', async (scene) => {
      const kinds = new Map<string, number>();
      for (let answer = left.shift(); answer; answer = left.shift()) {
        await answeredWhile(scene, kinds, answer, time);
        // If the next outage began at once, they would together last for longer than a lease.
        await scene.statuses();
      }
      return kinds;
    }),
  );
}

async function answeredWhile(
  scene: OutageScene,
  kinds: Map<string, number>,
  answer: Answer,
  time: number,
): Promise<void> {
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

/** Runs something on each database. Afterwards nothing is in progress, even if one of them has failed. */
async function onEach(
  databases: readonly TestApps[],
  run: (apps: TestApps, part: number) => Promise<Outcome>,
): Promise<Outcome> {
  const running = databases.map(run);
  await Promise.allSettled(running);
  const outcomes = await Promise.all(running);
  return {
    statuses: sums(outcomes.map(({ statuses }) => Object.entries(statuses))),
    problems: outcomes.flatMap(({ problems }) => problems),
    started: outcomes.reduce((sum, { started }) => sum + started, 0),
    kinds: new Map(Object.entries(sums(outcomes.map(({ kinds }) => [...kinds])))),
    failed: [...new Set(outcomes.flatMap(({ failed }) => failed))].sort(),
    errors: outcomes.flatMap(({ errors }) => errors),
  };
}

function sums(counts: readonly (readonly (readonly [string, number])[])[]): Record<string, number> {
  const sum: Record<string, number> = {};
  for (const [key, count] of counts.flat()) sum[key] = (sum[key] ?? 0) + count;
  return sum;
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
    const rows = await apps.sql<{ name: string; errors: string }>(
      'SELECT name, errors::text FROM saga.step WHERE errors IS NOT NULL ORDER BY name',
    );
    const failed = [...new Set(rows.map(({ name }) => name))];
    const errors = rows.map(({ name, errors: stored }) => `${name}: ${stored}`);
    return { statuses, problems, started: scene.started, kinds, failed, errors };
  } finally {
    await scene.close();
  }
}
