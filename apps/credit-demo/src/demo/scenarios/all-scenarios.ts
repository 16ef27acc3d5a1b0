import type { Scenario } from '../scenario.js';
import { brokerDown } from './broker-down.js';
import { creditLimit } from './credit-limit.js';
import { expiredCard } from './expired-card.js';
import { oneTrace } from './one-trace.js';
import { paymentStopped } from './payment-stopped.js';
import { tenOrders } from './ten-orders.js';
import { twiceDelivered } from './twice-delivered.js';
import { unknownCustomer } from './unknown-customer.js';

/** In the order in which they are played. */
export const SCENARIOS: readonly Scenario[] = [
  creditLimit,
  expiredCard,
  unknownCustomer,
  paymentStopped,
  twiceDelivered,
  tenOrders,
  brokerDown,
  oneTrace,
];
