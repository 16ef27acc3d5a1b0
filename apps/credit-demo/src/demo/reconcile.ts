import { euros, paint } from 'demo-support';
import type { CreditStatus } from '../customer/credit.entity.js';
import type { OrderStatus } from '../order/order.entity.js';
import type { PaymentStatus } from '../payment/payment.entity.js';
import { type Service, SERVICES } from '../service/service.js';
import type { DemoEnvironment } from './demo-environment.js';

/** What the services' own tables say, asked without any saga or message in between. */
interface Records {
  readonly orders: readonly { id: string; customer_id: string; amount: number; status: OrderStatus }[];
  readonly sagas: readonly { id: string; order_id: string; status: string }[];
  readonly customers: readonly { id: string; reserved: number }[];
  readonly credits: readonly {
    order_id: string;
    customer_id: string;
    amount: number;
    status: CreditStatus;
  }[];
  readonly payments: readonly { order_id: string; amount: number; status: PaymentStatus }[];
  readonly hops: readonly {
    message_id: string;
    type: string;
    order_id: string;
    trace: string;
    handled: boolean;
  }[];
  readonly outboxes: Readonly<Record<Service, number>>;
}

/** Something that has to be true of the records, and what contradicts it. */
export interface Claim {
  /** What it is if it is not true. */
  readonly kind: 'lost' | 'doubled' | 'wrong';
  readonly what: string;
  readonly problems: readonly string[];
}

/** Compares the tables of the three services once all sagas have ended. */
export async function reconcile(stage: DemoEnvironment): Promise<Claim[]> {
  const records = await readRecords(stage);
  const { orders, customers, payments, hops } = records;
  const approved = orders.filter(({ status }) => status === 'approved').length;
  const again = hops.filter(({ handled }) => !handled).length;
  const reserved = euros(sum(customers.map((customer) => customer.reserved)));
  const paid = payments.filter(({ status }) => status === 'paid').length;
  const claim = (kind: Claim['kind'], what: string, problems: string[]): Claim => ({ kind, what, problems });
  return [
    claim('lost', `orders: ${approved} approved, ${orders.length - approved} rejected`, unsettled(records)),
    claim('lost', `messages: ${hops.length - again} arrived, and none is missing`, missingMessages(records)),
    claim('doubled', `messages: none was handled twice; ${again} came again`, doubledMessages(records)),
    claim('wrong', `credit: ${reserved} reserved, for approved orders and no others`, wrongCredit(records)),
    claim('wrong', `payments: ${paid}, one for each approved order, in full`, wrongPayments(records)),
    claim('wrong', "traces: every message came under its saga's", wrongTraces(records)),
  ];
}

/** @returns what does not add up */
export function printClaims(claims: readonly Claim[]): string[] {
  for (const { what, problems } of claims) {
    console.log(`   ${problems.length === 0 ? paint('green', '✔') : paint('red', '✘')} ${what}`);
    for (const problem of problems.slice(0, 20)) console.log(`     ${paint('red', problem)}`);
  }
  return claims.flatMap(({ problems }) => problems);
}

async function readRecords(stage: DemoEnvironment): Promise<Records> {
  const [order, customer, payment] = (['order', 'customer', 'payment'] as const).map((service) =>
    stage.database(service),
  );
  const hops = await Promise.all(
    SERVICES.map((service) =>
      stage
        .database(service)
        .query<Records['hops'][number]>(
          `SELECT message_id, type, order_id, handled, split_part(traceparent, '-', 2) AS trace FROM hop`,
        ),
    ),
  );
  const outboxes = await Promise.all(
    SERVICES.map(async (service) => {
      const count = 'SELECT count(*)::int AS count FROM saga.outbox';
      const [row] = await stage.database(service).query<{ count: number }>(count);
      return [service, row!.count] as const;
    }),
  );
  return {
    orders: await order!.query('SELECT id, customer_id, amount, status FROM "order"'),
    sagas: await order!.query('SELECT id, correlation_id AS order_id, status FROM saga.instance'),
    customers: await customer!.query('SELECT id, reserved FROM customer'),
    credits: await customer!.query('SELECT order_id, customer_id, amount, status FROM credit'),
    payments: await payment!.query('SELECT order_id, amount, status FROM payment'),
    hops: hops.flat(),
    outboxes: Object.fromEntries(outboxes) as Records['outboxes'],
  };
}

function unsettled({ orders, sagas }: Records): string[] {
  const byOrder = new Map(sagas.map((saga) => [saga.order_id, saga]));
  const wrong = orders.flatMap(({ id, status }) => {
    const saga = byOrder.get(id)?.status;
    const wanted = { approved: 'completed', rejected: 'compensated', pending: undefined }[status];
    if (saga !== undefined && saga === wanted) return [];
    return [`the order ${id} is ${status}, and its saga ${saga ?? 'missing'}`];
  });
  const known = new Set(orders.map(({ id }) => id));
  const lost = sagas.filter(({ order_id }) => !known.has(order_id));
  return [...wrong, ...lost.map(({ id, status }) => `the saga ${id} is ${status}, and has no order`)];
}

function wrongCredit({ orders, credits, customers }: Records): string[] {
  const byOrder = new Map(credits.map((credit) => [credit.order_id, credit]));
  const wrong = orders.flatMap(({ id, status, amount }) => {
    const credit = byOrder.get(id);
    const held = credit?.status === 'reserved' ? credit.amount : 0;
    const due = status === 'approved' ? amount : 0;
    return held === due ? [] : [`the order ${id} is ${status}, and holds a credit of ${euros(held)}`];
  });
  const limits = customers.flatMap(({ id, reserved }) => {
    const held = credits.filter(({ customer_id, status }) => customer_id === id && status === 'reserved');
    const total = sum(held.map(({ amount }) => amount));
    return total === reserved ? [] : [`${id}: ${euros(reserved)} reserved, for credits of ${euros(total)}`];
  });
  return [...wrong, ...limits, ...strangers('credit', credits, orders)];
}

function wrongPayments({ orders, payments }: Records): string[] {
  const byOrder = new Map(payments.map((payment) => [payment.order_id, payment]));
  const wrong = orders.flatMap(({ id, status, amount }) => {
    const payment = byOrder.get(id);
    const paid = payment?.status === 'paid' ? payment.amount : 0;
    const due = status === 'approved' ? amount : 0;
    return paid === due ? [] : [`the order ${id} is ${status}, and ${euros(paid)} were paid for it`];
  });
  return [...wrong, ...strangers('payment', payments, orders)];
}

/** Which messages an order takes is known from how it ended. */
function missingMessages({ orders, credits, hops, outboxes }: Records): string[] {
  const arrived = new Set(hops.filter((hop) => hop.handled).map((hop) => `${hop.type} ${hop.order_id}`));
  const refused = new Set(credits.filter((one) => one.status === 'refused').map((one) => one.order_id));
  const missing = orders.flatMap(({ id, status }) => {
    const wanted = ['reserve-credit', 'credit-reply'];
    if (!refused.has(id)) wanted.push('request-payment', 'payment-reply');
    if (status === 'rejected') wanted.push('release-credit', 'credit-released');
    if (status === 'rejected' && !refused.has(id)) wanted.push('refund-payment', 'payment-refunded');
    const lacks = wanted.filter((type) => !arrived.has(`${type} ${id}`));
    return lacks.length === 0 ? [] : [`the order ${id} is ${status}, without its ${lacks.join(', ')}`];
  });
  const left = Object.entries(outboxes).filter(([, count]) => count > 0);
  return [...missing, ...left.map(([service, count]) => `${count} in the outbox of the ${service} service`)];
}

function doubledMessages({ hops }: Records): string[] {
  const seen = new Set<string>();
  return hops.flatMap(({ message_id, type, order_id, handled }) => {
    if (!handled) return [];
    const keys = [message_id, `${type} ${order_id}`];
    const twice = keys.some((key) => seen.has(key));
    for (const key of keys) seen.add(key);
    return twice ? [`the ${type} of the order ${order_id} was handled twice`] : [];
  });
}

function wrongTraces({ hops, sagas }: Records): string[] {
  const traces = new Map(sagas.map(({ order_id, id }) => [order_id, id.replaceAll('-', '')]));
  return hops
    .filter(({ order_id, trace }) => trace !== traces.get(order_id))
    .map(({ type, order_id, trace }) => `the ${type} of the order ${order_id} came under ${trace}`);
}

/** What belongs to no order that anyone placed. */
function strangers(
  what: string,
  rows: readonly { order_id: string }[],
  orders: readonly { id: string }[],
): string[] {
  const known = new Set(orders.map(({ id }) => id));
  return rows
    .filter(({ order_id }) => !known.has(order_id))
    .map(({ order_id }) => `a ${what} of an unknown order ${order_id}`);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((a, b) => a + b, 0);
}
