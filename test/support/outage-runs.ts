import { SagaStateError } from '../../libs/saga/src/index.js';
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

/** So many start orders side by side. */
const DRIVERS = 6;

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

/** One of each class, and those that were seen in the field. */
export const SAMPLE: readonly Answer[] = [
  ...new Map(OUTAGES.map((answer) => [answer.code!.slice(0, 2), answer])).values(),
  ...['25P04', '28P01', '42501', '53400', '57P04', '58030', 'XX000'].map((code) => ({ code })),
];

/** What orders cause at least once each. */
export const HOT = ['start', 'checkpoint', 'signal'];

/** What orders, operators and the relay cause. */
export const CAUSED = [
  ...HOT,
  ...['begin', 'claim', 'renew', 'takeSlots', 'freeSlots', 'lock', 'stepPauses', 'pauseStep', 'resumeStep'],
  ...['take messages', 'settle messages', 'cleanup'],
];

/** The result of a run. */
export interface Outcome {
  readonly statuses: Record<string, number>;
  readonly problems: readonly string[];
  readonly started: number;
  /** The kinds of statements that were answered. */
  readonly kinds: ReadonlySet<string>;
  /** Failed attempts of steps, by the step. */
  readonly failed: readonly { readonly name: string }[];
}

/** Runs orders, each kind of statement being answered once with each of its answers, until these kinds have been. */
export function answeredOnce(
  apps: TestApps,
  answersOf: (kind: string) => readonly Answer[],
  until: readonly string[],
  drivers = DRIVERS,
): Promise<Outcome> {
  return inScene(apps, '2s', async (scene) => {
    const each = new EachOnce(answersOf);
    // A deferred trigger may raise anything when a transaction commits: then it was the step that failed.
    scene.proxy.answerTo = (text) => (kindOf(text) === 'commit' ? undefined : each.answerTo(text));
    const isDone = () => until.every((kind) => each.leftOf(kind) === 0);
    const orders = async () => {
      while (!isDone()) await scene.startOrders(1);
    };
    const operators = async () => {
      while (!isDone()) await operate(scene);
    };
    // One by one: what is sent at the same time shares a statement.
    await Promise.all([operators(), ...Array.from({ length: drivers }, orders)]);
    return new Set(each.given.keys());
  });
}

/** Runs orders, every statement and every client that connects being answered so for a while (ms), each answer in turn. */
export function answeredFor(apps: TestApps, time: number, answers: readonly Answer[]): Promise<Outcome> {
  return inScene(apps, '20s', async (scene) => {
    const kinds = new Set<string>();
    for (const answer of answers) {
      const orders = scene.startOrders(10);
      await pause(50);
      scene.proxy.answerTo = (text) => {
        const kind = kindOf(text);
        if (kind === undefined || (kind === 'commit' && concernsStatement(answer))) return undefined;
        kinds.add(kind);
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
  run: (scene: OutageScene) => Promise<ReadonlySet<string>>,
): Promise<Outcome> {
  const scene = await OutageScene.open(apps, lease);
  try {
    const kinds = await run(scene);
    scene.proxy.answerTo = () => undefined;
    const statuses = await scene.statuses();
    const problems = await scene.problems();
    const failed = await apps.sql<{ name: string }>('SELECT name FROM saga.step WHERE errors IS NOT NULL');
    return { statuses, problems, started: scene.started, kinds, failed };
  } finally {
    await scene.close();
  }
}

/** What operators and schedules do, beside the orders. */
async function operate({ app: { sagas } }: OutageScene): Promise<void> {
  const [order] = (await sagas.find({ status: 'completed', limit: 1 })).items;
  if (order)
    await sagas.pause(order.id).then(
      () => Promise.reject(new Error('a completed order was paused')),
      (error: unknown) => {
        if (!(error instanceof SagaStateError)) throw error;
      },
    );
  await sagas.pauseStep('order', 'ship', { by: 'a' });
  await sagas.resumeStep('order', 'ship', { by: 'a' });
  await sagas.cleanup({ olderThan: '1h' });
}
