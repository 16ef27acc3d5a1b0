import { serve } from '../service/serve.js';
import { CustomerModule } from './customer.module.js';

/** The customer service's process. */
await serve('customer', CustomerModule);
