import { serve } from '../service/serve.js';
import { PaymentModule } from './payment.module.js';

/** The payment service's process. */
await serve('payment', PaymentModule);
