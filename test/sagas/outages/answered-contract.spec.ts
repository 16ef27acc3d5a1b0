import { describePauses } from '../../../libs/saga/src/store/contract/pause.contract.js';
import { describeSchedules } from '../../../libs/saga/src/store/contract/schedule.contract.js';
import { describeStepSlots } from '../../../libs/saga/src/store/contract/step-slots.contract.js';
import type { StoreSubject } from '../../../libs/saga/src/store/contract/store-subject.contract.js';
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
