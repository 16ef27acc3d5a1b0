import { describeSagaStore } from '../saga-store.contract.js';
import { postgresSubject } from './postgres-subject.contract.js';

// A file of its own beside postgres-saga-store.spec.ts, so that both run at the same time.
describeSagaStore('PostgresSagaStore over partitions', () =>
  postgresSubject(undefined, { partitions: 'daily' }),
);
