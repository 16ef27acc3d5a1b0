import { answeredFor, answeredOnce, CAUSED, NO_CODE, OUTAGES, SAMPLE } from '../../support/outage-runs.js';
import { TestApps } from '../../support/test-app.js';

const apps = TestApps.onOwnDatabase();

test('each kind of statement is answered with each SQLSTATE once, and everything completes', async () => {
  const rare = ['renew', 'stepPauses', 'lock'];
  const answersOf = (kind: string) => [...(rare.includes(kind) ? SAMPLE : OUTAGES), ...NO_CODE];
  const { statuses, started, problems, failed } = await answeredOnce(apps, answersOf, CAUSED);
  expect(statuses).toEqual({ completed: started });
  expect({ problems, failed }).toEqual({ problems: [], failed: [] });
}, 3_600_000);

test('each class of answers for three seconds costs time only', async () => {
  const { statuses, started, problems, failed } = await answeredFor(apps, 3_000, [...SAMPLE, ...NO_CODE]);
  expect(statuses).toEqual({ completed: started });
  expect({ problems, failed }).toEqual({ problems: [], failed: [] });
}, 3_600_000);
