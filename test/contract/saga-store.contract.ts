import { describeBytes } from './bytes.contract.js';
import { describeChanges } from './changes.contract.js';
import { describeCheckpoints } from './checkpoint.contract.js';
import { describeClaims } from './claim.contract.js';
import { describeLockMode } from './lock-mode.contract.js';
import { describeKeyedSagaLimit } from './keyed-saga-limit.contract.js';
import { describeSagaLimit } from './saga-limit.contract.js';
import { describeEdits } from './edit.contract.js';
import { describeFamilies } from './family.contract.js';
import { describeFamilyLocks } from './family-lock.contract.js';
import { describeFencing } from './fencing.contract.js';
import { describeFinding } from './find.contract.js';
import { describeGraphs } from './graph.contract.js';
import { describeLockCircles } from './lock-circle.contract.js';
import { describeLocks } from './lock.contract.js';
import { describeNotes } from './notes.contract.js';
import { describeOperations } from './operation.contract.js';
import { describeClock } from './clock.contract.js';
import { describePauses } from './pause.contract.js';
import { describePutBacks } from './put-back.contract.js';
import { describeRateLimits } from './rate-limit.contract.js';
import { describeReports } from './report.contract.js';
import { describeStepSlots } from './step-slots.contract.js';
import { describeSchedules } from './schedule.contract.js';
import { describeAwaitedSignals } from './awaited-signals.contract.js';
import { describeSignals } from './signal.contract.js';
import { describeStarts } from './start.contract.js';
import type { StoreSubject } from './store-subject.contract.js';
import { describeTasks } from './task.contract.js';
import { describeTags } from './tags.contract.js';
import { describeWatching } from './watch.contract.js';

export type { StoreSubject } from './store-subject.contract.js';

/**
 * What the engine relies on, whatever the database: one suite that every SagaStore passes. One subject serves
 * the whole suite, so each test uses sagas of a name of its own; none looks at the time of day.
 */
export function describeSagaStore(name: string, create: () => Promise<StoreSubject>): void {
  describe(`${name} is a saga store`, () => {
    let subject: StoreSubject | undefined;

    beforeAll(async () => {
      subject = await create();
    });
    afterAll(async () => {
      await subject?.close();
    });

    const current = (): StoreSubject => {
      if (!subject) throw new Error('The store under test was not created');
      return subject;
    };
    describeStarts(current);
    describeCheckpoints(current);
    describe('tags that steps have set', () => describeTags(current));
    describe('a pause of a step', () => describePauses(current));
    describeNotes(current);
    describeFencing(current);
    describeClaims(current);
    describeEdits(current);
    describeOperations(current);
    describeWatching(current);
    describeChanges(current);
    describeFinding(current);
    describeLocks(current);
    describePutBacks(current);
    describeRateLimits(current);
    describeStepSlots(current);
    describeClock(current);
    describeFamilies(current);
    describeFamilyLocks(current);
    describeLockCircles(current);
    describeSagaLimit(current);
    describeKeyedSagaLimit(current);
    describeLockMode(current);
    describeSignals(current);
    describeAwaitedSignals(current);
    describeTasks(current);
    describeSchedules(current);
    describeReports(current);
    describeGraphs(current);
    describeBytes(current);
  });
}
