import { describeDatabase } from './contract/database.contract.js';
import { KNEX } from './layers/knex.layer.js';

describeDatabase(KNEX);
