import { describeDatabase } from './contract/database.contract.js';
import { PG } from './layers/pg.layer.js';

describeDatabase(PG);
