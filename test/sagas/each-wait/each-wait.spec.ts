import { memorySubject } from '../../contract/memory-subject.contract.js';
import { postgresSubject } from '../../contract/postgres-subject.contract.js';
import { describeWaits } from './each-wait.contract.js';

describeWaits('in memory', async () => memorySubject(), { isDatabase: false });
describeWaits('on PostgreSQL', () => postgresSubject(), { isDatabase: true });
