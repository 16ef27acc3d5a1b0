import { describeDatabase } from './contract/database.contract.js';
import { PRISMA } from './layers/prisma.layer.js';

describeDatabase(PRISMA);
