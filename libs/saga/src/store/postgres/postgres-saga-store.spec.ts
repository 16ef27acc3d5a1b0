import { describeSagaStore } from '../../../../../test/contract/saga-store.contract.js';
import { postgresSubject } from '../../../../../test/contract/postgres-subject.contract.js';

describeSagaStore('PostgresSagaStore', () => postgresSubject());
