import { describeSagaStore } from '../saga-store.contract.js';
import { postgresSubject } from './postgres-subject.contract.js';

describeSagaStore('PostgresSagaStore', () => postgresSubject());
