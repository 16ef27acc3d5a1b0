import { refusesData } from '../../../libs/saga/src/store/postgres/connection/transient-errors.js';
import { SQLSTATES } from '../../fixtures/sqlstates.js';
import { OutageScene } from '../../support/outage-scene.js';
import type { Answer } from '../../support/answering-proxy.js';
import { TestApps } from '../../support/test-app.js';
import { EachOnce, kindOf } from '../../support/unknown-answers.js';

const apps = TestApps.onOwnDatabase();

const isRefusal = (code: string): boolean => refusesData({ code });
const NO_CODE: readonly Answer[] = [{}, { severity: 'FATAL' }];
/** One of each class, and the codes that were seen in the field. */
const SAMPLE = [
  ...new Map(SQLSTATES.filter((code) => !isRefusal(code)).map((code) => [code.slice(0, 2), code])).values(),
  ...['25P04', '28P01', '42501', '53400', '57P04', '58030', 'XX000'],
].map((code): Answer => ({ code }));
/** What is sent once for each saga, or more often. */
const HOT = ['start', 'checkpoint', 'signal'];

/** What orders, operators and the relay cause. */
const CAUSED = [
  ...HOT,
  ...['begin', 'claim', 'renew', 'takeSlots', 'freeSlots', 'lock', 'stepPauses', 'pauseStep', 'resumeStep'],
  ...['take messages', 'settle messages', 'cleanup'],
];
/** So many start orders side by side. */
const DRIVERS = 6;

/** What operators and schedules do, beside the orders. */
async function operate({ app: { sagas } }: OutageScene): Promise<void> {
  const [order] = (await sagas.find({ status: 'completed', limit: 1 })).items;
  if (order) await expect(sagas.pause(order.id)).rejects.toMatchObject({ code: 'SAGA_STATE' });
  await sagas.pauseStep('order', 'ship', { by: 'a' });
  await sagas.resumeStep('order', 'ship', { by: 'a' });
  await sagas.cleanup({ olderThan: '1h' });
}

let scene: OutageScene | undefined;
afterEach(async () => {
  await scene?.close();
  scene = undefined;
});

test('each SQLSTATE that refuses no data, and none, costs time only, whichever statement is answered with it', async () => {
  scene = await OutageScene.open(apps);
  const all = SQLSTATES.filter((code) => !isRefusal(code)).map((code): Answer => ({ code }));
  const each = new EachOnce((kind) => [...(HOT.includes(kind) ? all : SAMPLE), ...NO_CODE]);
  // A deferred trigger may raise anything when a transaction commits: then it was the step that failed.
  scene.proxy.answerTo = (text) => (kindOf(text) === 'commit' ? undefined : each.answerTo(text));
  const isDone = () => HOT.every((kind) => each.leftOf(kind) === 0);
  const orders = async () => {
    while (!isDone()) await scene!.startOrders(1);
  };
  const operators = async () => {
    while (!isDone()) await operate(scene!);
  };
  // One by one: what is sent at the same time shares a statement.
  await Promise.all([operators(), ...Array.from({ length: DRIVERS }, orders)]);
  scene.proxy.answerTo = () => undefined;
  expect(await scene.statuses()).toEqual({ completed: scene.started });
  expect(await scene.problems()).toEqual([]);
  expect(await apps.sql('SELECT name, errors FROM saga.step WHERE errors IS NOT NULL')).toEqual([]);
  expect(CAUSED.filter((kind) => !each.given.has(kind))).toEqual([]);
});
