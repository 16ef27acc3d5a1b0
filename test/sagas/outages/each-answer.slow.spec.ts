import {
  answeredFor,
  answeredOnce,
  CAUSED,
  HOT,
  NO_CODE,
  OUTAGES,
  REFUSALS,
  SAMPLE,
} from '../../support/outage-runs.js';
import { OutageScene } from '../../support/outage-scene.js';
import { TestApps } from '../../support/test-app.js';
import { kindOf } from '../../support/unknown-answers.js';

const apps = TestApps.onOwnDatabase();

test('each SQLSTATE that refuses no data, and none, costs time only, whichever statement is answered with it', async () => {
  const answersOf = (kind: string) => [...(HOT.includes(kind) ? OUTAGES : SAMPLE), ...NO_CODE];
  const { statuses, started, problems, failed, kinds } = await answeredOnce(apps, answersOf, HOT);
  expect(statuses).toEqual({ completed: started });
  expect({ problems, failed }).toEqual({ problems: [], failed: [] });
  expect(CAUSED.filter((kind) => !kinds.has(kind))).toEqual([]);
});

test('answers of each sort for three seconds, and a password that is wrong meanwhile, cost time only', async () => {
  const answers = [
    ...[{ code: '42501' }, { code: 'XX000' }, {}],
    ...[{ severity: 'FATAL', code: '28P01' } as const, { severity: 'FATAL' } as const],
  ];
  const { statuses, started, problems, failed, kinds } = await answeredFor(apps, 3_000, answers);
  expect(statuses).toEqual({ completed: started });
  expect({ problems, failed }).toEqual({ problems: [], failed: [] });
  expect([...kinds]).toEqual(expect.arrayContaining(['start', 'checkpoint', 'claim']));
});

test('data that is refused fails its step, and each order is whole or undone', async () => {
  const answersOf = (kind: string) => (kind === 'checkpoint' ? REFUSALS.map((code) => ({ code })) : []);
  const { statuses, started, problems, failed } = await answeredOnce(apps, answersOf, ['checkpoint'], 1);
  expect(problems).toEqual([]);
  expect((statuses.completed ?? 0) + (statuses.compensated ?? 0)).toBe(started);
  expect(statuses.compensated).toBeGreaterThan(0);
  expect(failed.length).toBeGreaterThan(0);
});

test('a value that the database refuses makes a call fail with an error of this package, not with that of the driver', async () => {
  const scene = await OutageScene.open(apps);
  try {
    const { sagas } = scene.app;
    scene.proxy.answerTo = (text) =>
      ['start', 'signal', 'pauseStep'].includes(kindOf(text) ?? '') ? { code: '22021' } : undefined;
    const refused = { code: 'SAGA_VALIDATION', message: expect.stringContaining('answered by the proxy') };
    await expect(scene.startOrders(1)).rejects.toMatchObject(refused);
    await expect(sagas.pauseStep('order', 'ship', { by: 'a' })).rejects.toMatchObject(refused);
  } finally {
    await scene.close();
  }
});
