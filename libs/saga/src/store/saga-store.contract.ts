import { describeBytes } from './contract/bytes.contract.js';
import { describeChanges } from './contract/changes.contract.js';
import { describeCheckpoints } from './contract/checkpoint.contract.js';
import { describeClaims } from './contract/claim.contract.js';
import { describeLockMode } from './contract/lock-mode.contract.js';
import { describeKeyedConcurrency } from './contract/keyed-concurrency.contract.js';
import { describeConcurrency } from './contract/concurrency.contract.js';
import { describeEdits } from './contract/edit.contract.js';
import { describeFamilies } from './contract/family.contract.js';
import { describeFamilyLocks } from './contract/family-lock.contract.js';
import { describeFencing } from './contract/fencing.contract.js';
import { describeFinding } from './contract/find.contract.js';
import { describeGraphs } from './contract/graph.contract.js';
import { describeLockCircles } from './contract/lock-circle.contract.js';
import { describeLocks } from './contract/lock.contract.js';
import { describeNotes } from './contract/notes.contract.js';
import { describeOperations } from './contract/operation.contract.js';
import { describeClock } from './contract/clock.contract.js';
import { describePauses } from './contract/pause.contract.js';
import { describePutBacks } from './contract/put-back.contract.js';
import { describeRateLimits } from './contract/rate-limit.contract.js';
import { describeReports } from './contract/report.contract.js';
import { describeStepSlots } from './contract/step-slots.contract.js';
import { describeSchedules } from './contract/schedule.contract.js';
import { describeAwaitedSignals } from './contract/awaited-signals.contract.js';
import { describeSignals } from './contract/signal.contract.js';
import { describeStarts } from './contract/start.contract.js';
import type { StoreSubject } from './contract/store-subject.contract.js';
import { describeTasks } from './contract/task.contract.js';
import { describeTags } from './contract/tags.contract.js';
import { describeWatching } from './contract/watch.contract.js';

export type { StoreSubject } from './contract/store-subject.contract.js';

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
    describeConcurrency(current);
    describeKeyedConcurrency(current);
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
