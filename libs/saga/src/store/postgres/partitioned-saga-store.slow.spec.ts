import { describeSagaStore } from '../../../../../test/contract/saga-store.contract.js';
import { postgresSubject } from '../../../../../test/contract/postgres-subject.contract.js';

// A file of its own beside postgres-saga-store.spec.ts, and of another tier: it is the same contract once more.
describeSagaStore('PostgresSagaStore over partitions', () =>
  postgresSubject(undefined, { partitions: 'daily' }),
);
