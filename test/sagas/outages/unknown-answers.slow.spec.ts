import {
  answeredFor,
  answeredOnce,
  bothWays,
  NO_CODE,
  ONE_OF_EACH_CLASS,
  OUTAGES,
  SEEN,
} from '../../support/outage-runs.js';
import { TestApps } from '../../support/test-app.js';

const apps = TestApps.onOwnDatabase();
const ANSWERS = [...OUTAGES, ...NO_CODE];

test('each kind of statement is answered with each SQLSTATE once, and everything completes', async () => {
  const answersOf = (kind: string) => (kind === 'COMMIT' ? [] : ANSWERS);
  const { statuses, started, problems, failed } = await answeredOnce(apps, answersOf);
  expect({ statuses, problems, failed }).toEqual({
    ...{ statuses: { completed: started }, problems: [], failed: [] },
  });
}, 3_600_000);

test('each kind of statement is executed and answered with each class once, and everything completes once', async () => {
  const executed = ONE_OF_EACH_CLASS.map((answer) => ({ ...answer, isExecuted: true }));
  const answersOf = (kind: string) => (kind === 'COMMIT' ? bothWays(ANSWERS) : executed);
  const { statuses, started, problems } = await answeredOnce(apps, answersOf);
  expect({ statuses, problems }).toEqual({ statuses: { completed: started }, problems: [] });
}, 3_600_000);

test('each class of answers for three seconds costs time only', async () => {
  const { statuses, started, problems, failed } = await answeredFor(apps, 3_000, [
    ...[...ONE_OF_EACH_CLASS, ...SEEN, ...NO_CODE],
  ]);
  expect({ statuses, problems, failed }).toEqual({
    ...{ statuses: { completed: started }, problems: [], failed: [] },
  });
}, 3_600_000);
