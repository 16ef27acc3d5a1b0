import { describeSagaStore } from '../../contract/saga-store.contract.js';
import { statementTextsOf } from '../../../libs/saga/src/store/postgres/statements.js';
import { AnsweredSubject } from '../../support/answered-subject.js';

/** Statements that the suite does not send, since it repeats no start, and commits with the durability of the server. */
const NOT_SENT = [
  ...['existing', 'lockHolders', 'stayQueued'],
  ...['startRelaxed', 'startOneRelaxed', 'checkpointRelaxed', 'checkpointOneRelaxed'],
];

const answered = new AnsweredSubject();

describeSagaStore('a store whose statements are answered with errors', () => answered.open());

afterAll(() => {
  const names = Object.keys(statementTextsOf('saga')).filter((name) => !NOT_SENT.includes(name));
  expect(names.filter((name) => !answered.given.has(name))).toEqual([]);
});
