import { describeDatabase } from './contract/database.contract.js';
import { TYPEORM } from './layers/typeorm.layer.js';

describeDatabase(TYPEORM);
