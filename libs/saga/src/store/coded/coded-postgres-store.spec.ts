import { postgresSubject } from '../postgres/postgres-subject.contract.js';
import { describeSagaStore } from '../saga-store.contract.js';
import { coded, withOutbox } from './coded-subject.contract.js';

// A file of its own beside coded-saga-store.spec.ts, so that both run at the same time.
describeSagaStore('CodedSagaStore over PostgreSQL', () => withOutbox(postgresSubject(coded)));
