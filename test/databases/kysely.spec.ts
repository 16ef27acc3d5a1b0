import { describeDatabase } from './contract/database.contract.js';
import { KYSELY } from './layers/kysely.layer.js';

describeDatabase(KYSELY);
