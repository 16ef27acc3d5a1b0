import { describeDatabase } from './contract/database.contract.js';
import { DRIZZLE } from './layers/drizzle.layer.js';

describeDatabase(DRIZZLE);
