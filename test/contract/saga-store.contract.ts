import { describeBytes } from './bytes.contract.js';
import { describeChanges } from './changes.contract.js';
import { describeCheckpoints } from './checkpoint.contract.js';
import { describeCleanup } from './cleanup.contract.js';
import { describeClaims } from './claim.contract.js';
import { describeLockMode } from './lock-mode.contract.js';
import { describeKeyedSagaLimit } from './keyed-saga-limit.contract.js';
import { describeSagaLimit } from './saga-limit.contract.js';
import { describeEdits } from './edit.contract.js';
import { describeFamilies } from './family.contract.js';
import { describeFamilyLocks } from './family-lock.contract.js';
import { describeFencing } from './fencing.contract.js';
import { type Feature, withoutFeatures } from './features.js';
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
import { describeWakeups } from './wakeup.contract.js';
import { describeWatching } from './watch.contract.js';

export type { StoreSubject } from './store-subject.contract.js';

type Part = (subject: () => StoreSubject) => void;

/** The parts of the suite, each with what a store may refuse of which all its tests are. */
const PARTS: readonly (readonly [Part, Feature?])[] = [
  [describeStarts],
  [describeCheckpoints],
  [(subject) => describe('tags that steps have set', () => describeTags(subject))],
  [(subject) => describe('a pause of a step', () => describePauses(subject)), 'pauses'],
  [describeNotes],
  [describeFencing],
  [describeClaims],
  [describeEdits],
  [describeOperations],
  [describeWatching],
  [describeChanges],
  [describeFinding],
  [describeLocks, 'locks'],
  [describePutBacks],
  [describeRateLimits, 'rates'],
  [describeStepSlots, 'step limits'],
  [describeClock, 'a clock set back'],
  [describeFamilies],
  [describeFamilyLocks, 'locks'],
  [describeLockCircles, 'locks'],
  [describeSagaLimit],
  [describeKeyedSagaLimit],
  [describeLockMode, 'locks'],
  [describeSignals],
  [describeAwaitedSignals],
  [describeTasks],
  [describeSchedules],
  [describeReports],
  [describeGraphs],
  [describeBytes],
  [describeCleanup],
  [describeWakeups],
];

/**
 * What the engine relies on, whatever the database: one suite that every SagaBackend passes. One subject serves
 * the whole suite, so each test uses sagas of a name of its own; none looks at the time of day.
 * @param refused what the backend refuses to keep, and is not tested
 */
export function describeSagaStore(
  name: string,
  create: () => Promise<StoreSubject>,
  refused: readonly Feature[] = [],
): void {
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
    withoutFeatures(refused, () => {
      for (const [describePart, feature] of PARTS)
        if (!feature || !refused.includes(feature)) describePart(current);
    });
  });
}
