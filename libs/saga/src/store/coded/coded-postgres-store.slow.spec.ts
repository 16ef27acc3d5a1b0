import { postgresSubject } from '../postgres/postgres-subject.contract.js';
import { describeSagaStore } from '../saga-store.contract.js';
import { coded, withOutbox } from './coded-subject.contract.js';

// A file of its own beside coded-saga-store.spec.ts, and of another tier: it is the same contract once more.
describeSagaStore('CodedSagaStore over PostgreSQL', () => withOutbox(postgresSubject(coded)));
