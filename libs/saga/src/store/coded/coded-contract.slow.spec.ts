import { memorySubject } from '../memory/memory-subject.contract.js';
import { postgresSubject } from '../postgres/postgres-subject.contract.js';
import { describeSagaStore } from '../saga-store.contract.js';
import { coded, plain, withOutbox } from './coded-subject.contract.js';

// The same contract three times more.
describeSagaStore('CodedSagaStore over PostgreSQL', () => withOutbox(postgresSubject(coded)));
describeSagaStore('CodedSagaStore over memory', () => withOutbox(memorySubject(coded)));
describeSagaStore('CodedSagaStore without a codec', () => memorySubject(plain));
