import { describePauses } from '../../contract/pause.contract.js';
import { describeSchedules } from '../../contract/schedule.contract.js';
import { describeStepSlots } from '../../contract/step-slots.contract.js';
import type { StoreSubject } from '../../contract/store-subject.contract.js';
import { AnsweredSubject } from '../../support/answered-subject.js';

/** Parts of the suite that every store passes, whose statements no outage scene sends. */
describe('a store whose statements are answered with errors', () => {
  let subject: StoreSubject;
  beforeAll(async () => {
    subject = await new AnsweredSubject().open();
  });
  afterAll(() => subject.close());

  describe('a pause of a step', () => describePauses(() => subject));
  describeSchedules(() => subject);
  describeStepSlots(() => subject);
});
