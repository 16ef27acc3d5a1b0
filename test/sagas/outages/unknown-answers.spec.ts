import { jest } from '@jest/globals';
import {
  answeredFor,
  answeredOnce,
  bothWays,
  expectTimeOnly,
  NO_CODE,
  ONE_OF_EACH_CLASS,
  ownDatabases,
  REFUSALS,
} from '../../support/outage-runs.js';
import { OutageScene } from '../../support/outage-scene.js';
import { kindOf } from '../../support/unknown-answers.js';

/** As many statements as kinds have answers, however busy the machine is. */
jest.setTimeout(600_000);

const databases = ownDatabases();
const [apps] = databases;
const ANSWERS = [...ONE_OF_EACH_CLASS, ...NO_CODE];

test('an answer of each class that refuses no data, and none, costs time only, whichever statement is answered with it', async () => {
  const answersOf = (kind: string) => (kind === 'COMMIT' ? [] : ANSWERS);
  expectTimeOnly(await answeredOnce(databases, answersOf));
});

test('an answer of each class to COMMIT, in place of it and after it, is taken for what happened', async () => {
  const answersOf = (kind: string) => (kind === 'COMMIT' ? bothWays(ANSWERS) : []);
  const { statuses, started, problems, failed, kinds } = await answeredOnce(databases, answersOf);
  expect({ statuses, problems }).toEqual({ statuses: { completed: started }, problems: [] });
  // A deferred trigger may raise anything when a transaction commits: then it was the step that failed.
  expect(failed).toEqual(['book']);
  expect(kinds.get('COMMIT')).toBe(2 * ANSWERS.length);
});

test('answers for three seconds, and a password that is wrong meanwhile, cost time only', async () => {
  const answers = [{ code: '42501' }, {}, { severity: 'FATAL', code: '28P01' } as const];
  expectTimeOnly(await answeredFor(databases, 3_000, answers));
});

test('data that is refused fails its step, and each order is whole or undone', async () => {
  const answersOf = (kind: string) => (/^checkpoint/.test(kind) ? REFUSALS.map((code) => ({ code })) : []);
  const { statuses, started, problems, failed } = await answeredOnce(databases, answersOf, [], '5s');
  expect(problems).toEqual([]);
  expect((statuses.completed ?? 0) + (statuses.compensated ?? 0)).toBe(started);
  expect(statuses.compensated).toBeGreaterThan(0);
  expect(failed.length).toBeGreaterThan(0);
});

test('a value that the database refuses makes a call fail with an error of this package, not with that of the driver', async () => {
  const scene = await OutageScene.open(apps!);
  try {
    const { operations } = scene.app;
    scene.proxy.answerTo = (text) =>
      ['startOne', 'signal', 'pauseStep'].includes(kindOf(text) ?? '') ? { code: '22021' } : undefined;
    const refused = { code: 'SAGA_VALIDATION', message: expect.stringContaining('answered by the proxy') };
    await expect(scene.startOrders(1)).rejects.toMatchObject(refused);
    await expect(operations.pauseStep('order', 'ship', { by: 'a' })).rejects.toMatchObject(refused);
  } finally {
    await scene.close();
  }
});
