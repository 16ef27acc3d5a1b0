import type { Service } from '../service/service.js';

/** Runs that share a broker keep out of each other's way by it. */
export const TOPIC_PREFIX = process.env.TOPIC_PREFIX || 'credit-demo';

// Where the services listen. Commands to one service are one topic, so that they keep their order.
export const CUSTOMER_COMMANDS = topic('customer.commands');
export const CUSTOMER_REPLIES = topic('customer.replies');
/** Confirmations of compensations: each kind of answer is a topic, since a topic is a signal. */
export const CREDIT_RELEASES = topic('customer.releases');
export const PAYMENT_COMMANDS = topic('payment.commands');
export const PAYMENT_REPLIES = topic('payment.replies');
export const PAYMENT_REFUNDS = topic('payment.refunds');

/** What each service listens to. */
export const TOPICS_OF: Readonly<Record<Service, readonly string[]>> = {
  order: [CUSTOMER_REPLIES, CREDIT_RELEASES, PAYMENT_REPLIES, PAYMENT_REFUNDS],
  customer: [CUSTOMER_COMMANDS],
  payment: [PAYMENT_COMMANDS],
};

export function topic(name: string, prefix = TOPIC_PREFIX): string {
  return `${prefix}.${name}`;
}
