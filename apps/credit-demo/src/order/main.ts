import { serve } from '../service/serve.js';
import { OrderModule } from './order.module.js';

/** The order service's process. */
await serve('order', OrderModule);
