import { memorySubject } from '../../../../../test/contract/memory-subject.contract.js';
import { postgresSubject } from '../../../../../test/contract/postgres-subject.contract.js';
import { describeSagaStore } from '../../../../../test/contract/saga-store.contract.js';
import { coded, plain, withOutbox } from '../../../../../test/contract/coded-subject.contract.js';

// The same contract three times more.
describeSagaStore('CodedSagaStore over PostgreSQL', () => withOutbox(postgresSubject(coded)));
describeSagaStore('CodedSagaStore over memory', () => withOutbox(memorySubject(coded)));
describeSagaStore('CodedSagaStore without a codec', () => memorySubject(plain));
